"""The current through gap junctions on a GPU: as many threads per neuron as suit its junctions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import element_of, launched
from event_ops.kernels.numba_cuda.by_length import lanes_of
from event_ops.kernels.numba_cuda.row_products import csr_row, gather_rows_with
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of
from ffi_bridge import numba_cuda_callable


@cuda.jit(device=True)
def beside_own(v: Any, i: Any) -> Any:
    """Return what the entries of row i read."""
    return v, v[np.uint64(i)]


@cache
def of_difference(weight_of: Any) -> Any:
    """Return the device function for what junction k contributes."""

    @cuda.jit(device=True)
    def term(weights: Any, k: Any, seen: Any, j: Any) -> Any:
        v, own = seen
        return weight_of(weights[0], k) * (v[j] - own)

    return term


def build(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the more junctions neurons have, the more threads share one."""
    rows = shape[0]

    def gather(data: Any, indices: Any, indptr: Any, v: Any, y: Any, stream: Any) -> None:
        lanes = lanes_of(indices.size, rows)
        term = of_difference(element_of(data))
        kernel = gather_rows_with(lanes, csr_row, term, y.dtype, beside_own)
        grid, weights = blocks_of(rows * lanes), launched(data)
        kernel[grid, BLOCK, stream](*weights, indices, indptr, v, np.int64(v.size), y)

    current = numba_cuda_callable(gather, outs)
    return lambda data, indices, indptr, v: current(data.reshape(-1), indices, indptr, v)
