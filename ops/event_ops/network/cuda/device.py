"""Device functions of a run on a GPU: a barrier of the whole grid, lists of spikes, their entries.

Spikes leave a step as bits, a word for each warp, which every block reads behind the barrier and lists in
its shared memory: in order, without an atomic, and without a list that blocks would have to wait for.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda
from numba.core import cgutils, types
from numba.extending import intrinsic

from event_ops.kernels.numba_cuda.access import at, bounded, is_inside, upper_bound
from event_ops.kernels.numba_cuda.packed_entries import column_in
from event_ops.kernels.numba_cuda.threads import WARP

AT_ONCE = 4  # words that a thread reads by one load


def _asm(name: str, text: str, result: Any, *, reads: bool) -> Any:
    """Return the intrinsic `f(array, i)` of an instruction that takes the address of element i."""

    @intrinsic
    def instruction(typing: Any, array: Any, i: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            place = context.cast(builder, arguments[1], signature.args[1], types.intp)
            address = builder.ptrtoint(builder.gep(data, [place]), cgutils.intp_t)
            function = cgutils.ir.FunctionType(
                cgutils.int32_t if reads else cgutils.ir.VoidType(), [cgutils.intp_t]
            )
            outs = "=r," if reads else ""
            asm = cgutils.ir.InlineAsm(function, text, f"{outs}l,~{{memory}}", side_effect=True)
            value = builder.call(asm, [address])
            return value if reads else context.get_dummy_value()

        return result(array, i), emit

    instruction.__name__ = name
    return instruction


arrive_one = _asm("arrive_one", "red.release.gpu.global.add.u32 [$0], 1;", types.void, reads=False)
arrived_now = _asm("arrived_now", "ld.acquire.gpu.global.u32 $0, [$1];", types.int32, reads=True)


@cuda.jit(device=True)
def arrive(arrived: Any) -> None:
    """Publish the work of this block to blocks that wait."""
    cuda.syncthreads()
    if cuda.gridDim.x > 1 and cuda.threadIdx.x == 0:
        arrive_one(arrived, 0)


@cuda.jit(device=True)
def wait_for_all(arrived: Any, target: Any) -> None:
    """Wait until `target` blocks have arrived since the counter was 0; it may wrap round."""
    if cuda.gridDim.x > 1:
        if cuda.threadIdx.x == 0:
            while np.int32(arrived_now(arrived, 0) - target) < 0:
                cuda.nanosleep(np.uint32(20))
        cuda.syncthreads()


@cuda.jit(device=True)
def count_bits(words: Any) -> Any:
    """Return the number of bits that are set in four words."""
    a, b, c, d = words
    return cuda.popc(a) + cuda.popc(b) + cuda.popc(c) + cuda.popc(d)


@cuda.jit(device=True)
def note_words(words: Any, word: Any, time: Any, place: Any, noted: Any, times: Any) -> None:
    """Note the neurons of four words, the first of which is number `word`, from `place` on."""
    for bits in words:
        first = WARP * word
        while bits != 0:
            if is_inside(place, noted.size):
                noted[np.uint64(place)] = first + cuda.ffs(bits) - 1
                times[np.uint64(place)] = time
            place += 1
            bits &= bits - np.uint32(1)
        word += 1


@cuda.jit(device=True)
def extent(indptr: Any, near: Any, ages: Any, neuron: Any, size: Any, time: Any, nse: Any) -> Any:
    """Return the first entry of a spike, and their number: of all delays that end at time 0 or later.

    `near` has the ends of neurons, where `indptr` has those of each delay, too: it stays in the cache.
    """
    each, skipped = np.int64(ages.size), -np.int64(time)
    if not is_inside(neuron, size) or (each == 1 and ages[0] < skipped):
        return np.int64(0), np.int64(0)
    low, high = bounded(near[np.uint64(neuron)], nse), bounded(near[np.uint64(neuron + 1)], nse)
    if skipped > 0 and each > 1:
        low = bounded(indptr[np.uint64(neuron * each + min(skipped, each))], nse)
    return low, max(high - low, np.int64(0))


@cuda.jit(device=True)
def delay_of(indptr: Any, each: Any, neuron: Any, entry: Any) -> Any:
    """Return the delay of an entry of a neuron, which has `each` rows, one for each delay."""
    first = np.int64(neuron) * each
    low, high = first + 1, first + each
    # Lanes look at different ends first: then all ends of a neuron are near after one trip to memory.
    probed = low + cuda.laneid * each // WARP
    if probed < high:
        if indptr[np.uint64(probed)] <= entry:
            low = probed + 1
        else:
            high = probed
    return upper_bound(indptr, entry, low, high) - first - 1


@cuda.jit(device=True)
def value_at(values: Any, every: Any, step: Any, i: Any) -> Any:
    """Return the value for neuron i in a step of the run; 0 behind the last, which is read ahead."""
    row, column = step // every, i if values.shape[1] > 1 else np.uint64(0)
    return values[np.uint64(row), column] if is_inside(row, values.shape[0]) else values.dtype.type(0)


@cuda.jit(device=True)
def amount_of(weights: Any, i: Any, number: Any) -> Any:
    """Return the weight of neuron i times a number of spikes."""
    weight = at(weights, i)
    return weight * type(weight)(number)


@cuda.jit(device=True)
def train_at(weights: Any, ids: Any, spans: Any, step: Any, i: Any) -> Any:
    """Return the amount of the spikes given for neuron i in a step of the run; 0 behind the last."""
    if not is_inside(step, spans.size - 1):
        return weights.dtype.type(0)
    neuron, low, high = np.int64(i), spans[np.uint64(step)], spans[np.uint64(step + 1)]
    number = upper_bound(ids, neuron, low, high) - upper_bound(ids, neuron - 1, low, high)
    # An infinite weight times no spike would be NaN.
    return amount_of(weights, i, number) if number > 0 else weights.dtype.type(0)


@cuda.jit(device=True)
def add_at(ring: Any, slot: Any, column: Any, weight: Any) -> None:
    """ring[slot, column] += weight; slots go round."""
    slots = ring.shape[0]
    while slot >= slots:
        slot -= slots
    if is_inside(slot, slots) and is_inside(column, ring.shape[1]):
        cuda.atomic.add(ring, (np.uint64(slot), np.uint64(column)), weight)


@cache
def make_word_in(bits_for: Any, code_in: Any) -> Any:
    """Return the device function for the column and weight of a word, given functions of bits and codes."""

    @cuda.jit(device=True)
    def word_in(raw: Any, factor: Any, starts: Any, part: Any, size: Any) -> Any:
        """Return the column of a word of a part, -1 if it has none, and its weight."""
        word, bits, first = np.uint32(raw), bits_for(size), np.int64(starts[part])
        column = np.int64(column_in(word, bits))
        inside = is_inside(column, starts[part + 1] - first)
        return column + first if inside else np.int64(-1), type(factor)(code_in(word, bits)) * factor

    return word_in


@cuda.jit(device=True)
def id_of(neuron: Any, places: Any, first: Any) -> Any:
    """Return the id of the neuron that has a place among the bits of all populations."""
    p = 0
    while neuron >= WARP * places[p + 1]:
        p += 1
    return neuron - WARP * places[p] + first[p]
