"""CSR to dense on a GPU: everything is cleared, then a few threads per row add its entries."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import cuda

from event_ops.kernels.numba_cuda.access import at, place
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of, clear, lanes_for
from ffi_bridge import numba_cuda_callable


@cuda.jit(device=True)
def add_alone(D: Any, i: Any, j: Any, weight: Any) -> None:
    """D[i, j] += weight where one thread has all of row i; for any dtype."""
    D[i, j] += weight


@cuda.jit(device=True)
def add_among(D: Any, i: Any, j: Any, weight: Any) -> None:
    """D[i, j] += weight where several threads share row i."""
    cuda.atomic.add(D, (i, j), weight)


@cache
def add_rows_with(lanes: int) -> Any:
    """Return the kernel `D[i, indices[k]] += data[k]` over row i; `lanes` threads per row."""
    add = add_alone if lanes == 1 else add_among

    @cuda.jit
    def add_rows(data: Any, indices: Any, indptr: Any, D: Any) -> None:
        i, lane = cuda.grid(1) // lanes, cuda.grid(1) % lanes
        if i < D.shape[0]:
            low, high = csr_row(indptr, i, indices.size)
            for k in range(low + lane, high, lanes):
                j = place(indices[k], D.shape[1])
                if j >= 0:
                    add(D, i, j, at(data, k))

    return add_rows


def build(*, outs: Any, deterministic: bool = False, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the longer rows are, the more threads share one."""
    rows = outs.shape[0]

    def todense(data: Any, indices: Any, indptr: Any, D: Any, stream: Any) -> None:
        clear(D, stream)
        lanes = 1 if deterministic else lanes_for(indices.size, rows, D.dtype)
        add_rows_with(lanes)[blocks_of(rows * lanes), BLOCK, stream](data, indices, indptr, D)

    run = numba_cuda_callable(todense, outs)
    return lambda data, indices, indptr: run(data.reshape(-1).astype(outs.dtype), indices, indptr)
