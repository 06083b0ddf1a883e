"""CSR matrix times dense matrix on a GPU: neighbouring threads take neighbouring columns of B.

Where B has fewer columns than a warp has threads, several share the entries of a row, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from event_ops.kernels.numba_cuda.access import always, launched
from event_ops.kernels.numba_cuda.by_length import lanes_of
from event_ops.kernels.numba_cuda.fixed_order import in_fixed_order
from event_ops.kernels.numba_cuda.scatter import adding_callable
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of, clear
from event_ops.kernels.numba_cuda.tile_products import gather_tiles_with, scatter_tiles_with, width_of
from ffi_bridge import numba_cuda_callable


@in_fixed_order
def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation; columns of B, then entries of a row, fill a warp."""
    rows, columns = shape[0], outs.shape[1]
    width = width_of(columns)
    tiles = rows * blocks_of(columns, width)

    def gather(data: Any, indices: Any, indptr: Any, B: Any, y: Any, stream: Any) -> None:
        lanes = lanes_of(indices.size, rows, width)
        kernel = gather_tiles_with(width, lanes, always, y.dtype, indices.dtype)
        kernel[blocks_of(tiles * width * lanes), BLOCK, stream](*launched(data), indices, indptr, B, y)

    def scatter(data: Any, indices: Any, indptr: Any, B: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        lanes = lanes_of(indices.size, rows, width)
        kernel = scatter_tiles_with(width, lanes, y.dtype, indices.dtype)
        kernel[blocks_of(tiles * width * lanes), BLOCK, stream](data, indices, indptr, B, y)

    product = adding_callable(scatter, outs) if transpose else numba_cuda_callable(gather, outs)
    return lambda data, indices, indptr, B: product(data.reshape(-1).astype(outs.dtype), indices, indptr, B)
