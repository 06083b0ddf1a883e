"""Depression on a GPU: the rows of the neurons that spiked, a few warps for each, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import cuda

from event_ops.parts.numba_cuda.access import at, place
from event_ops.parts.numba_cuda.plasticity import (
    WARPS,
    bounded_weight,
    entries_of_piece,
    grid_and_pieces,
    note_active,
)
from event_ops.parts.numba_cuda.threads import BLOCK, WARP
from ffi_bridge import numba_cuda_callable


@cuda.jit
def move_rows(
    indices: Any,
    indptr: Any,
    spikes: Any,
    x_post: Any,
    amount: Any,
    w_min: Any,
    w_max: Any,
    pieces: int,
    w: Any,
) -> None:
    noted, counts = cuda.shared.array(BLOCK, numba.int32), cuda.shared.array(WARPS, numba.int32)
    tasks = note_active(spikes, noted, counts) * pieces
    first = cuda.blockIdx.y * WARPS + cuda.threadIdx.x // WARP
    for task in range(first, tasks, cuda.gridDim.y * WARPS):
        i = cuda.blockIdx.x * BLOCK + noted[task // pieces]
        spike = w.dtype.type(spikes[i])
        for k in entries_of_piece(indptr, i, indices.size, task % pieces, pieces):
            j = place(indices[k], x_post.size)
            if j >= 0:
                step = at(amount, k) * spike
                w[k] = bounded_weight(w[k] + step * x_post[j], at(w_min, k), at(w_max, k))


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """The callable; amount is -A_minus. No two rows share a weight."""

    def move(w: Any, indices: Any, indptr: Any, spikes: Any, *others: Any) -> None:
        *scalars_and_trace, moved, stream = others
        grid, pieces = grid_and_pieces(indices.size, spikes.size)
        move_rows[grid, BLOCK, stream](indices, indptr, spikes, *scalars_and_trace, pieces, moved)

    run = numba_cuda_callable(move, outs, input_output_aliases={0: 0})

    def call(*arrays: Any) -> Any:
        *structure_and_trace, amount, w_min, w_max = arrays
        return run(*structure_and_trace, *(x.reshape(-1) for x in (amount, w_min, w_max)))

    return call
