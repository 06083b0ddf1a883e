"""Weights of neurons that spiked: a block notes the spikes among its neurons, and warps share their rows."""

from __future__ import annotations

from typing import Any

from numba import cuda

from event_ops.parts.numba_cuda.access import bounded, is_active
from event_ops.parts.numba_cuda.threads import WARP, WARPS, blocks_of, lanes_where, rank_in

PIECE = 2 * WARP  # entries that one warp takes of a row of mean length: a few, since each waits for the last
WAVE = 1024  # blocks that a GPU runs at the same time


def grid_and_pieces(entries: int, rows: int) -> tuple[tuple[int, int], int]:
    """The grid for so many rows, along its first axis a block for BLOCK of them; how many warps share one."""
    blocks = blocks_of(rows)
    pieces = max(1, blocks_of(entries, max(1, rows) * PIECE))
    beside = min(pieces, max(1, WAVE // max(1, blocks)))
    return (blocks, beside), min(pieces, WARPS * beside)


@cuda.jit(device=True)
def note_active(events: Any, noted: Any, counts: Any) -> Any:
    """How many of the block's events are active; `noted`, in shared memory as `counts` is, has their places.

    Ascending, so that all blocks for the same events agree on their order.
    """
    i = cuda.grid(2)[0]
    warp, lane = cuda.threadIdx.x // WARP, cuda.threadIdx.x % WARP
    active = i < events.size and is_active(events[i])
    found = lanes_where(active)
    cuda.syncthreads()  # nobody reads any more what was noted for another element of a batch
    if lane == 0:
        counts[warp] = cuda.popc(found)
    cuda.syncthreads()
    before, total = 0, 0
    for other in range(WARPS):
        total += counts[other]
        if other < warp:
            before += counts[other]
    if active:
        noted[before + rank_in(found)] = cuda.threadIdx.x
    cuda.syncthreads()
    return total


@cuda.jit(device=True)
def entries_of_piece(indptr: Any, i: Any, entries: Any, piece: Any, pieces: Any) -> Any:
    """The entries of row i that this thread takes, where its warp takes one of so many pieces."""
    first = bounded(indptr[i], entries) + piece * WARP + cuda.threadIdx.x % WARP
    return range(first, bounded(indptr[i + 1], entries), pieces * WARP)


@cuda.jit(device=True)
def bounded_weight(value: Any, low: Any, high: Any) -> Any:
    """The nearest value in [low, high]; NaN stays NaN."""
    above = low if value < low else value
    return high if above > high else above
