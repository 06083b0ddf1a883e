"""Products of an ELLPACK matrix on the CPU: the loops of CSR, along rows of equal length."""

from collections.abc import Callable
from functools import cache
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


def ell_matvec(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many entries."""

    def call(data: Any, indices: Any, v: Any) -> Any:
        large = reaches(indices.size, MIN_PARALLEL)
        kernel = along_equal_rows(csr_products.MATVEC[transpose][large], large)
        return numba_kernel(kernel, outs)(data, indices, v)

    return call


def ell_event_matvec(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: a gather of all rows, or transposed the rows of active events."""

    def call(data: Any, indices: Any, events: Any) -> Any:
        large = reaches(indices.size, MIN_ENTRIES_PARALLEL if transpose else MIN_PARALLEL)
        kernel = along_equal_rows(csr_products.EVENT_MATVEC[transpose][large], large)
        return numba_kernel(kernel, outs)(data, indices, events)

    return call
