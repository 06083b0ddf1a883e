"""Drawing the synapses of a neuron: from a counter-based generator, so that any thread may draw any row.

A fixed total number of synapses with both ends drawn at random is the same as: out-degrees are a multinomial
sample, and the targets of each synapse are independent of them. So the sources are drawn first, only to be
counted, and then every row by itself. Streams of `philox2x32(x, y, key)`:

| y                    | x              | words                                        |
|----------------------|----------------|----------------------------------------------|
| SOURCES + projection | n              | the sources of synapses 2n and 2n + 1        |
| source neuron        | e              | target and delay of its synapse e            |
| source neuron        | NORMALS + n    | normal deviates of its synapses 2n and 2n + 1|
"""

import math
from functools import partial
from itertools import pairwise
from typing import Any, Final

import numpy as np

from event_ops.kernels.numba_cpu.jit import njit, numba_njit
from event_ops.kernels.numba_cpu.power import bits, number
from event_ops.kernels.numba_cpu.random_numbers import chosen, philox2x32
from event_ops.kernels.reference.random_numbers import alias_table

SOURCES: Final = np.uint64(1 << 31)
NORMALS: Final = np.uint64(1 << 31)
SLOTS: Final = 64  # steps that are kept: delays are below it
DELAY_BITS: Final = np.uint32(6)

_WORD_BITS: Final = np.uint64(32)
_AT_ONCE: Final = 1024  # pairs of words, which stay in the nearest cache
_FRACTION: Final = np.int64((1 << 52) - 1)  # of the bits of a float64
_ONE: Final = np.int64(1023 << 52)  # the bits of 1.0
_EIGHTH: Final = np.uint32(1 << 29)  # of a turn
_ROUND: Final = 1.5 * 2.0**52  # a sum with it has the nearest integer in its lowest bits
_ZERO_EXPONENT: Final = np.int64(np.float64(_ROUND).view(np.int64) - 1055)  # of (1 + n) / 2^32, n < 2^32
_LOG_2: Final = math.log(2)
# Coefficients of log((1 + s) / (1 - s)) / (2 s), sin(t) / t and cos(t), the last first, in s^2 and t^2: what
# is left out is below 1e-17 for s up to 0.172 and t up to pi / 4.
_LOG: Final = tuple(1 / (2 * n + 1) for n in range(10, -1, -1))
_SINE: Final = tuple((-1) ** n / math.factorial(2 * n + 1) for n in range(8, -1, -1))
_COSINE: Final = tuple((-1) ** n / math.factorial(2 * n) for n in range(8, -1, -1))


def delay_counts(mean: float, sd: float) -> list[int]:
    """Return how many of the 2**32 words choose each delay of 0, 1, ..., 63 steps.

    A delay is round(x) for normal x, drawn again unless 1/2 <= x < 63.5, as in NEST.
    """
    edges = [-math.inf, *(k + 0.5 for k in range(SLOTS))]
    below = [0.5 * (1 + math.erf((edge - mean) / (sd * math.sqrt(2)))) for edge in edges]
    first, last = below[1], below[-1]
    # Ends are rounded, not counts: so these add up to 2**32.
    thresholds = [0, *(round((b - first) / (last - first) * 2**32) for b in below[1:])]
    return [high - low for low, high in pairwise(thresholds)]


def delay_table(mean: float, sd: float) -> np.ndarray:
    """Return (64,), uint32, the alias table of `delay_counts`; mean and sd in steps."""
    return alias_table(delay_counts(mean, sd))


# LLVM compiles a function by itself and again within each that calls it: few levels keep the building short.
# A test for division by 0 would keep loops from vectorising.
inner: Any = partial(njit, error_model="numpy")
outer: Any = partial(numba_njit, error_model="numpy", nogil=True, no_cfunc_wrapper=True)


@inner
def words_into(key: Any, row: Any, first: Any, x: Any, y: Any) -> None:
    """Write the two words of each counter from the first on, of a row's stream."""
    for k in range(x.size):
        word, other = philox2x32(first + np.uint64(k), row, key)
        x[k], y[k] = np.uint32(word), np.uint32(other)


@outer
def count_sources(key: Any, projection: Any, synapses: Any, counts: Any) -> None:
    """Add to counts[i] how many synapses of a projection begin at its source i."""
    sources, pairs = np.uint64(counts.size), (synapses + 1) // 2
    firsts, seconds = np.empty(_AT_ONCE, np.uint32), np.empty(_AT_ONCE, np.uint32)
    for low in range(0, pairs, _AT_ONCE):
        words_into(key, SOURCES + np.uint64(projection), np.uint64(low), firsts, seconds)
        for k in range(min(_AT_ONCE, pairs - low)):
            counts[np.uint64(firsts[k]) * sources >> _WORD_BITS] += 1
        for k in range(min(_AT_ONCE, synapses // 2 - low)):
            counts[np.uint64(seconds[k]) * sources >> _WORD_BITS] += 1


@inner
def polynomial(coefficients: Any, x: Any) -> Any:
    """Return the sum of coefficients[-1 - n] * x^n."""
    total = 0.0
    for coefficient in coefficients:
        total = total * x + coefficient
    return total


@inner
def normals_into(key: Any, row: Any, pair: Any, deviates: Any) -> None:
    """Write standard normal deviates, two for each pair from this one on, by Box and Muller; all below 6.7.

    radius = sqrt(-2 log((first + 1) / 2^32)), angle = 2 pi second / 2^32, for the two words of a pair. There
    are no branches and no calls, which would keep loops from working on several pairs at once.
    """
    pairs = deviates.size // 2
    firsts, seconds = np.empty(pairs, np.uint32), np.empty(pairs, np.uint32)
    words_into(key, row, NORMALS + pair, firsts, seconds)
    for j in range(pairs):
        # One more, since 0 has no logarithm.
        word = bits(np.float64(np.int64(firsts[j]) + 1))
        # The exponent with that of the rounding number, so that no integer is converted.
        exponent = number((word >> 52) + _ZERO_EXPONENT) - _ROUND
        mantissa = number(word & _FRACTION | _ONE)
        high = mantissa > math.sqrt(2)
        mantissa *= 0.5 if high else 1.0
        s = (mantissa - 1.0) / (mantissa + 1.0)
        log = (exponent + (1.0 if high else 0.0)) * _LOG_2 + 2.0 * s * polynomial(_LOG, s * s)
        radius = math.sqrt(-2.0 * log)
        quarter = np.uint32(seconds[j] + _EIGHTH) >> np.uint32(30)  # the nearest one
        t = np.float64(np.int32(np.uint32(seconds[j] - (quarter << np.uint32(30))))) * (
            2.0 * math.pi / 2.0**32
        )
        sine, cosine = t * polynomial(_SINE, t * t), polynomial(_COSINE, t * t)
        odd = quarter & np.uint32(1) != np.uint32(0)
        x, y = (sine, cosine) if odd else (cosine, sine)
        deviates[2 * j] = radius * (-x if (quarter == 1) | (quarter == 2) else x)
        deviates[2 * j + 1] = radius * (-y if (quarter == 2) | (quarter == 3) else y)


@inner
def meets(bounds: Any, p: Any, low: Any, high: Any) -> bool:
    """Return whether population p has a neuron of low to high."""
    return bounds[p] < high and bounds[p + 1] > low


@inner
def target_of(word: Any, start: Any, size: Any) -> Any:
    """Return the neuron that a word chooses of a population."""
    # The upper half of a product is uniform below `size`, without a division.
    return np.int64(np.uint64(start) + (np.uint64(word) * np.uint64(size) >> _WORD_BITS))


@inner
def part_of(target: Any, part_starts: Any) -> int:
    """Return the part that has a target."""
    # By looking at one after the other, since there are few: one for each thread.
    part = 0
    while target >= part_starts[part + 1]:
        part += 1
    return part


@outer
def count_rows(
    begin: Any, end: Any, key: Any, degrees: Any, bounds: Any, part_starts: Any, counts: Any
) -> None:
    """Write to counts[part, row] how many synapses of rows begin to end are onto the neurons of each part."""
    low, high = np.int64(part_starts[0]), np.int64(part_starts[-1])
    for row in range(begin, end):
        e = np.uint64(0)
        for part in range(counts.shape[0]):
            counts[part, row] = 0
        for p in range(bounds.size - 1):
            degree, start, stop = np.int64(degrees[row, p]), np.int64(bounds[p]), np.int64(bounds[p + 1])
            if degree and meets(bounds, p, low, high):
                part = part_of(max(start, low), part_starts)
                if low <= start and stop <= part_starts[part + 1]:
                    counts[part, row] += degree
                else:
                    aims, others = np.empty(degree, np.uint32), np.empty(degree, np.uint32)
                    words_into(key, np.uint64(row), e, aims, others)
                    for k in range(degree):
                        target = target_of(aims[k], start, stop - start)
                        if low <= target < high:
                            counts[part_of(target, part_starts), row] += 1
            e += np.uint64(degree)


@inner
def draw_row(
    key: Any, row: Any, drawing: Any, low: Any, high: Any, targets: Any, steps: Any, codes: Any
) -> int:
    """Draw target, counted from `low`, delay and weight of the synapses of a row onto neurons low to high.

    Returns how many they are. `drawing` has the arrays of a `Drawing` from degrees to tables: the row has
    degrees[row, p] synapses onto population p; weights, by its own population and p, are in units of a code.
    """
    degrees, populations, bounds, weights, tables = drawing
    e, drawn, source = np.uint64(0), 0, populations[row]
    table = tables[source]
    for p in range(bounds.size - 1):
        degree, start = np.int64(degrees[row, p]), np.int64(bounds[p])
        size = bounds[p + 1] - start
        if degree and meets(bounds, p, low, high):
            aims, words = np.empty(degree, np.uint32), np.empty(degree, np.uint32)
            words_into(key, np.uint64(row), e, aims, words)
            # Deviates come in pairs of synapses: the first pair may have begun in the population before.
            pair, last = e // np.uint64(2), (e + np.uint64(degree) - np.uint64(1)) // np.uint64(2)
            deviates, skipped = np.empty(2 * np.intp(last - pair + np.uint64(1))), np.intp(e % np.uint64(2))
            normals_into(key, np.uint64(row), pair, deviates)
            mean, sd = weights[0, source, p], weights[1, source, p]
            for k in range(degree):
                target = target_of(aims[k], start, size)
                if low <= target < high:
                    targets[drawn] = target - low
                    steps[drawn] = chosen(table, np.uint32(0), words[k], DELAY_BITS)
                    codes[drawn] = np.rint(mean + sd * deviates[skipped + k])
                    drawn += 1
        e += np.uint64(degree)
    return drawn


@outer
def fill_rows(
    begin: Any, end: Any, source_ends: Any, key: Any, drawing: Any, low: Any, part_starts: Any,
    bits_of_column: Any, entries: Any, indptr: Any,
) -> None:  # fmt: skip
    """Draw the synapses of sources begin to end, of each source by part and in the order of their delays."""
    room, high, degrees = 0, low + part_starts[-1], drawing[0]
    for row in range(begin, end):
        room = max(room, degrees[row].sum())
    targets, steps, codes = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    slots, places = np.empty(room, np.int32), np.empty(indptr.shape[0] * SLOTS, np.int32)
    for row in range(begin, end):
        size = draw_row(key, row, drawing, low, high, targets, steps, codes)
        # A counting sort by part and delay: count, add up to where each begins, put each in its place.
        for slot in range(places.size):
            places[slot] = 0
        for e in range(size):
            part = part_of(np.int64(targets[e]), part_starts)
            targets[e] -= part_starts[part]
            slots[e] = part * SLOTS + steps[e]
            places[slots[e]] += 1
        for part in range(indptr.shape[0]):
            place = source_ends[part, row]
            for slot in range(SLOTS):
                synapses = places[part * SLOTS + slot]
                places[part * SLOTS + slot] = place
                place += synapses
                indptr[part, row * SLOTS + slot + 1] = place
        for e in range(size):
            entries[places[slots[e]]] = np.uint32(codes[e] << bits_of_column) | np.uint32(targets[e])
            places[slots[e]] += 1
