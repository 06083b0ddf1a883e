"""Weights of neurons that spiked: a block notes the spikes among its neurons, and warps share their rows."""

from typing import Any

import numba
from numba import cuda

from event_ops.kernels.numba_cuda.access import is_active, place
from event_ops.kernels.numba_cuda.by_length import SECTOR
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import BLOCK, WARP, WARPS, blocks_of, lanes_where, rank_in

PIECE = 2 * WARP  # entries of a mean row that a warp takes: few, since each waits for the one before
WAVE = 1024  # blocks that a GPU runs at once


def grid_and_pieces(entries: int, rows: int) -> tuple[tuple[int, int], int]:
    """Return the grid, a block along x for BLOCK rows, and how many warps share a row."""
    blocks = blocks_of(rows)
    pieces = max(1, blocks_of(entries, max(1, rows) * PIECE))
    # More blocks than run at once would only note the same spikes once more.
    beside = min(pieces, max(1, WAVE // max(1, blocks)))
    return (blocks, beside), min(pieces, WARPS * beside)


@cuda.jit(device=True)
def note_active(events: Any, noted: Any, counts: Any) -> Any:
    """Return how many of the block's events are active, and put their places into `noted`, in shared memory.

    They ascend, so that all blocks for the same events agree on their order.
    """
    i = cuda.grid(2)[0]
    warp, lane = cuda.threadIdx.x // WARP, cuda.threadIdx.x % WARP
    active = i < events.size and is_active(events[i])
    active_lanes = lanes_where(active)
    cuda.syncthreads()  # in a batch: everybody has read what was noted for the element before
    if lane == 0:
        counts[warp] = cuda.popc(active_lanes)
    cuda.syncthreads()
    before, total = 0, 0
    for other in range(WARPS):
        total += counts[other]
        if other < warp:
            before += counts[other]
    if active:
        noted[before + rank_in(active_lanes)] = cuda.threadIdx.x
    cuda.syncthreads()
    return total


@cuda.jit(device=True)
def own_place(_places: Any, p: Any, _size: Any) -> Any:
    """Return where the weight of entry p is: at p."""
    return p


@cuda.jit(device=True)
def given_place(places: Any, p: Any, size: Any) -> Any:
    """Return where the weight of entry p is: at places[p], or -1 if that is out of range."""
    return place(places[p], size)


def make_visit_rows(update: Any, place_of: Any) -> Any:
    """Return the function that calls `update` for each entry of the rows that spike: warps share them."""

    @cuda.jit(device=True)
    def visit(
        synapses: Any, indices: Any, indptr: Any, places: Any, spikes: Any, limit: Any,
        variables: Any, pieces: Any,
    ) -> None:  # fmt: skip
        noted, counts = cuda.shared.array(BLOCK, numba.int32), cuda.shared.array(WARPS, numba.int32)
        tasks = note_active(spikes, noted, counts) * pieces
        first = cuda.blockIdx.y * WARPS + cuda.threadIdx.x // WARP
        for task in range(first, tasks, cuda.gridDim.y * WARPS):
            i = cuda.blockIdx.x * BLOCK + noted[task // pieces]
            low, high = csr_row(indptr, i, indices.size)
            # A warp reads whole sectors of memory: its first entries may be before the row, its last behind.
            for begin in range(low - low % SECTOR + task % pieces * WARP, high, pieces * WARP):
                p = begin + cuda.threadIdx.x % WARP
                mine = low <= p < high
                j = place(indices[p], limit[0]) if mine else -1
                k = place_of(places, p, synapses[0].size) if mine else -1
                if j >= 0 and k >= 0:
                    update(k, i, j, synapses, variables)

    return visit
