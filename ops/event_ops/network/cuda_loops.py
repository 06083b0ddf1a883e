"""Device functions of a run on a GPU: a barrier of the whole grid, sums over a block, lists of spikes.

Spikes leave a step as bits, a word for each warp, which every block reads behind the barrier and lists in
its shared memory: in order, without an atomic, and without a list that blocks would have to wait for.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import at, bounded, is_inside, upper_bound
from event_ops.kernels.numba_cuda.packed_entries import column_in
from event_ops.kernels.numba_cuda.threads import FULL, WARP

AT_ONCE = 4  # words that a thread reads by one load


@cuda.jit(device=True)
def wait_for_all(arrived: Any, target: Any) -> None:
    """Wait until `target` blocks have arrived since the counter was 0; it may wrap round."""
    cuda.syncthreads()
    if cuda.gridDim.x > 1:
        if cuda.threadIdx.x == 0:
            cuda.threadfence()
            cuda.atomic.add(arrived, 0, 1)
            while np.int32(cuda.atomic.add(arrived, 0, 0) - target) < 0:
                pass
            cuda.threadfence()
        cuda.syncthreads()


@cuda.jit(device=True)
def sum_up_to(value: Any) -> Any:
    """Return the sum of a 64-bit integer over all lanes up to this one; all lanes call it."""
    total, offset = np.int64(value), 1
    while offset < WARP:
        before = cuda.shfl_up_sync(FULL, total, offset)
        if cuda.laneid >= offset:
            total += before
        offset *= 2
    return total


@cache
def sum_before(warps: int) -> Any:
    """Return `f(value, of_warp)`, which gives a thread the sum before it, and that of its block.

    All threads of a block of so many warps call it; `of_warp` is in shared memory, a number for each warp.
    """

    @cuda.jit(device=True)
    def before(value: Any, of_warp: Any) -> Any:
        warp, lane = cuda.threadIdx.x // WARP, cuda.laneid
        up_to = sum_up_to(value)
        cuda.syncthreads()  # everybody has read the sums of the last call
        if lane == WARP - 1:
            of_warp[warp] = up_to
        cuda.syncthreads()
        sums = sum_up_to(of_warp[lane] if lane < warps else np.int64(0))
        total = cuda.shfl_sync(FULL, sums, warps - 1)
        earlier = cuda.shfl_sync(FULL, sums, max(warp - 1, 0))
        return up_to - value + (earlier if warp else np.int64(0)), total

    return before


@cuda.jit(device=True)
def note_bits(bits: Any, neuron: Any, time: Any, place: Any, noted: Any, times: Any) -> Any:
    """Note the neurons of a word of bits from `place` on, as far as it is one; return the place behind."""
    while bits != 0:
        if is_inside(place, noted.size):
            noted[np.uint64(place)] = neuron + cuda.ffs(bits) - 1
            times[np.uint64(place)] = time
        place += 1
        bits &= bits - np.uint32(1)
    return place


@cuda.jit(device=True)
def extent(indptr: Any, ages: Any, neuron: Any, size: Any, time: Any, nse: Any) -> Any:
    """Return the first entry of a spike, and their number: of all delays that end at time 0 or later."""
    each, skipped = np.int64(ages.size), max(np.int64(-time), np.int64(0))
    if not is_inside(neuron, size) or (each == 1 and ages[0] < skipped):
        return np.int64(0), np.int64(0)
    first = neuron * each
    low = bounded(indptr[np.uint64(first + (min(skipped, each) if each > 1 else 0))], nse)
    return low, max(bounded(indptr[np.uint64(first + each)], nse) - low, np.int64(0))


@cuda.jit(device=True)
def delay_of(indptr: Any, ages: Any, neuron: Any, entry: Any) -> Any:
    """Return the delay of an entry of a neuron, whose rows are one for each delay."""
    each = np.int64(ages.size)
    if each == 1:
        return np.int64(ages[0])
    first = neuron * each
    return upper_bound(indptr, entry, first + 1, first + each) - first - 1


@cuda.jit(device=True)
def add_at(ring: Any, slot: Any, column: Any, weight: Any) -> None:
    """ring[slot, column] += weight; slots go round."""
    slots = ring.shape[0]
    while slot >= slots:
        slot -= slots
    if is_inside(slot, slots) and is_inside(column, ring.shape[1]):
        cuda.atomic.add(ring, (np.uint64(slot), np.uint64(column)), weight)


@cuda.jit(device=True)
def add_entry(data: Any, indices: Any, entry: Any, slot: Any, ring: Any) -> None:
    """Add an entry of a CSR matrix."""
    add_at(ring, slot, indices[np.uint64(entry)], at(data, entry))


@cache
def make_add_word(bits_for: Any, code_in: Any) -> Any:
    """Return the device function that adds a word, given the functions for bits and codes."""

    @cuda.jit(device=True)
    def add_word(
        words: Any, scale: Any, starts: Any, part: Any, neuron: Any, entry: Any, slot: Any, ring: Any
    ) -> None:
        word, bits = words[np.uint64(entry)], bits_for(ring.shape[1])
        column, first = column_in(word, bits), np.int64(starts[part])
        if is_inside(column, starts[part + 1] - first):
            weight = ring.dtype.type(code_in(word, bits)) * at(scale, neuron)
            add_at(ring, slot, np.int64(column) + first, weight)

    return add_word


@cuda.jit(device=True)
def id_of(neuron: Any, places: Any, first: Any) -> Any:
    """Return the id of the neuron that has a place among the bits of all populations."""
    p = 0
    while neuron >= WARP * places[p + 1]:
        p += 1
    return neuron - WARP * places[p] + first[p]
