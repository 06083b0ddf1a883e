"""Products of an ELLPACK matrix on the CPU: the loops of CSR, along rows of equal length."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu import csr_products
from event_ops.kernels.numba_cpu.deliver import MIN_ENTRIES_PARALLEL
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL
from ffi_bridge import numba_kernel


@cache
def along_equal_rows(kernel: Any, parallel: bool) -> Any:
    """Return the kernel of an ELLPACK product, from that of CSR, whose `ends` may be (rows, per_row)."""

    @njit(parallel=parallel)
    def product(data: Any, indices: Any, x: Any, y: Any) -> None:
        # A single weight is 0-d: Numba keeps one branch only.
        if data.ndim == 0:
            kernel(data, indices.reshape(-1), indices.shape, x, y)
        else:
            kernel(data.reshape(-1), indices.reshape(-1), indices.shape, x, y)

    return product


def product(
    kernels: Any, least_transposed: int, *, outs: Any, transpose: bool, **_: Any
) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many entries.

    kernels: those of CSR, by orientation. Transposed, only rows of active events are read, mostly few.
    """
    least = least_transposed if transpose else MIN_PARALLEL

    def call(data: Any, indices: Any, x: Any) -> Any:
        large = reaches(indices.size, least)
        return numba_kernel(along_equal_rows(kernels[transpose][large], large), outs)(data, indices, x)

    return call


ell_matvec = partial(product, csr_products.MATVEC, MIN_PARALLEL)
ell_event_matvec = partial(product, csr_products.EVENT_MATVEC, MIN_ENTRIES_PARALLEL)
