"""Products of an ELLPACK matrix on a GPU: the loops of CSR, along rows of equal length."""

from collections.abc import Callable
from typing import Any

import numpy as np

from event_ops.kernels.numba_cuda import row_products
from event_ops.kernels.numba_cuda.access import element_at, stored_weights, weight_at
from event_ops.kernels.numba_cuda.deliver import deliver
from event_ops.kernels.numba_cuda.fixed_order import ell_in_fixed_order
from event_ops.kernels.numba_cuda.row_products import ell_row, of_event, of_number
from event_ops.kernels.numba_cuda.scatter import adding_callable
from event_ops.kernels.numba_cuda.threads import clear
from ffi_bridge import numba_cuda_callable


@ell_in_fixed_order("csr_matvec")
def ell_matvec(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation; the longer rows are, the more threads share one."""

    def gather(data: Any, indices: Any, v: Any, y: Any, stream: Any) -> None:
        gather_rows(data, indices, v, y, stream, of_number(weight_at))

    def scatter(data: Any, indices: Any, v: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        per_row = np.int64(indices.shape[1])
        row_products.scatter(data.ravel(), indices.ravel(), per_row, v, y, stream, weight_at, ell_row)

    product = adding_callable(scatter, outs) if transpose else numba_cuda_callable(gather, outs)
    return lambda data, indices, v: product(stored_weights(data, outs.dtype), indices, v)


@ell_in_fixed_order("csr_event_matvec")
def ell_event_matvec(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: for every row its active columns, or transposed the rows of events."""

    def gather(data: Any, indices: Any, events: Any, y: Any, stream: Any) -> None:
        gather_rows(data, indices, events, y, stream, of_event(element_at))

    def scatter(data: Any, indices: Any, events: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        deliver(data, indices.ravel(), np.int64(indices.shape[1]), shape[0], events, y, stream, ell_row)

    product = numba_cuda_callable(scatter if transpose else gather, outs)
    return lambda data, indices, events: product(
        stored_weights(data.reshape(-1), outs.dtype), indices, events
    )


def gather_rows(data: Any, indices: Any, x: Any, y: Any, stream: Any, term: Any) -> None:
    """Launch `y[i] = sum of the terms of row i`."""
    weights, per_row = (data.ravel(),), np.int64(indices.shape[1])
    row_products.gather(weights, indices.ravel(), per_row, x, x.size, y, stream, term, ell_row)
