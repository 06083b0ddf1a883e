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
from itertools import pairwise
from typing import Any, Final

import numba
import numpy as np
from numba import prange

from event_ops.parts.numba_cpu.random_numbers import chosen, philox2x32
from event_ops.parts.reference.random_numbers import alias_table

SOURCES: Final = np.uint64(1 << 31)
NORMALS: Final = np.uint64(1 << 31)
SLOTS: Final = 64  # steps that are kept: delays are below it
DELAY_BITS: Final = np.uint32(6)

_WORD_BITS: Final = np.uint64(32)
_FRACTION: Final = np.int64((1 << 52) - 1)  # of the bits of a float64
_ONE: Final = np.int64(1023 << 52)  # the bits of 1.0
_EIGHTH: Final = np.uint32(1 << 29)  # of a turn
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
    thresholds = [0, *(round((b - first) / (last - first) * 2**32) for b in below[1:])]
    return [high - low for low, high in pairwise(thresholds)]


def delay_table(mean: float, sd: float) -> np.ndarray:
    """Return (64,), uint32, the alias table of `delay_counts`; mean and sd in steps."""
    return alias_table(delay_counts(mean, sd))


@numba.njit
def count_share(key: Any, projection: Any, synapses: Any, part: Any, parts: Any, counts: Any) -> None:
    """Add to counts[i] how many synapses of one of `parts` shares of a projection begin at its source i."""
    pairs, sources = (synapses + 1) // 2, np.uint64(counts.size)
    for pair in range(np.uint64(pairs * part // parts), np.uint64(pairs * (part + 1) // parts)):
        first, second = philox2x32(pair, SOURCES + np.uint64(projection), key)
        counts[first * sources >> _WORD_BITS] += 1
        if np.uint64(2) * pair + np.uint64(1) < np.uint64(synapses):
            counts[second * sources >> _WORD_BITS] += 1


@numba.njit(parallel=True)
def count_sources(key: Any, projection: Any, synapses: Any, counts: Any) -> None:
    """Add to counts[part, i] how many synapses of a part of a projection begin at its source i."""
    for part in prange(counts.shape[0]):
        count_share(key, projection, synapses, part, counts.shape[0], counts[part])


@numba.njit
def words_into(key: Any, row: Any, first: Any, x: Any, y: Any) -> None:
    """Write the two words of each counter from the first on, of a row's stream."""
    for k in range(x.size):
        word, other = philox2x32(first + np.uint64(k), row, key)
        x[k], y[k] = np.uint32(word), np.uint32(other)


@numba.njit(inline="always")
def polynomial(coefficients: Any, x: Any) -> Any:
    """Return the sum of coefficients[-1 - n] * x^n."""
    total = 0.0
    for coefficient in coefficients:
        total = total * x + coefficient
    return total


@numba.njit
def normals_into(key: Any, row: Any, pair: Any, deviates: Any) -> None:
    """Write standard normal deviates, two for each pair from this one on, by Box and Muller; all below 6.7.

    radius = sqrt(-2 log((first + 1) / 2^32)), angle = 2 pi second / 2^32, for the two words of a pair. There
    are no branches and no calls, which would keep loops from working on several pairs at once.
    """
    pairs = deviates.size // 2
    firsts, seconds = np.empty(pairs, np.uint32), np.empty(pairs, np.uint32)
    words_into(key, row, NORMALS + pair, firsts, seconds)
    mantissas, exponents = np.empty(pairs), np.empty(pairs)
    bits = mantissas.view(np.int64)
    for j in range(pairs):
        mantissas[j] = np.float64(np.int64(firsts[j]) + 1)
    for j in range(pairs):
        exponents[j] = np.float64((bits[j] >> 52) - 1055)
        bits[j] = bits[j] & _FRACTION | _ONE
    for j in range(pairs):
        high = mantissas[j] > math.sqrt(2)
        mantissa = mantissas[j] * (0.5 if high else 1.0)
        s = (mantissa - 1.0) / (mantissa + 1.0)
        log = (exponents[j] + (1.0 if high else 0.0)) * _LOG_2 + 2.0 * s * polynomial(_LOG, s * s)
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


@numba.njit
def meets(start: Any, size: Any, low: Any, high: Any) -> bool:
    """Return whether a population has a neuron of low to high."""
    return start < high and start + size > low


@numba.njit(inline="always")
def target_of(word: Any, start: Any, size: Any) -> Any:
    """Return the neuron that a word chooses of a population."""
    return np.int64(np.uint64(start) + (np.uint64(word) * np.uint64(size) >> _WORD_BITS))


@numba.njit(inline="always")
def part_of(target: Any, part_starts: Any) -> int:
    """Return the part that has a target."""
    part = 0
    while target >= part_starts[part + 1]:
        part += 1
    return part


@numba.njit
def count_row(
    key: Any, row: Any, degrees: Any, starts: Any, sizes: Any, part_starts: Any, counts: Any
) -> None:
    """Write to counts[part, row] how many synapses of the row are onto the neurons of each part."""
    low, high, e = part_starts[0], part_starts[-1], np.uint64(0)
    counts[:, row] = 0
    for p in range(starts.size):
        degree, start, size = degrees[row, p], starts[p], sizes[p]
        whole = low <= start and start + size <= high
        if whole and part_of(start, part_starts) == part_of(start + size - 1, part_starts):
            counts[part_of(start, part_starts), row] += degree
        elif meets(start, size, low, high):
            aims = np.empty(degree, np.uint32)
            words_into(key, row, e, aims, np.empty(degree, np.uint32))
            for aim in aims:
                target = target_of(aim, start, size)
                if low <= target < high:
                    counts[part_of(target, part_starts), row] += 1
        e += np.uint64(degree)


@numba.njit(parallel=True)
def count_rows(key: Any, degrees: Any, starts: Any, sizes: Any, part_starts: Any, counts: Any) -> None:
    """Write to counts[part, row] how many synapses of each row are onto the neurons of each part."""
    for row in prange(degrees.shape[0]):
        count_row(key, np.uint64(row), degrees, starts, sizes, part_starts, counts)


@numba.njit
def draw_row(
    key: Any, row: Any, degrees: Any, starts: Any, sizes: Any, means: Any, sds: Any, table: Any,
    low: Any, high: Any, targets: Any, steps: Any, codes: Any,
) -> int:  # fmt: skip
    """Draw target, counted from `low`, delay and weight of the synapses of a row onto neurons low to high.

    Returns how many they are. The row has degrees[p] synapses onto population p; means and sds, by p, are in
    units of a weight's code.
    """
    e, kept = np.uint64(0), 0
    for p in range(degrees.size):
        degree = degrees[p]
        if degree and meets(starts[p], sizes[p], low, high):
            aims, words = np.empty(degree, np.uint32), np.empty(degree, np.uint32)
            words_into(key, row, e, aims, words)
            pair, last = e // np.uint64(2), (e + np.uint64(degree) - np.uint64(1)) // np.uint64(2)
            deviates, skipped = np.empty(2 * np.intp(last - pair + np.uint64(1))), np.intp(e % np.uint64(2))
            normals_into(key, row, pair, deviates)
            for k in range(degree):
                target = target_of(aims[k], starts[p], sizes[p])
                if low <= target < high:
                    targets[kept] = target - low
                    steps[kept] = chosen(table, np.uint32(0), words[k], DELAY_BITS)
                    codes[kept] = np.int16(np.rint(means[p] + sds[p] * deviates[skipped + k]))
                    kept += 1
        e += np.uint64(degree)
    return kept


@numba.njit
def places_by(keys: Any, places: Any, ends: Any) -> None:
    """Order the synapses of a source by key: write the rank of each, and where those of a key end."""
    next_place = np.zeros(ends.size + 1, np.int64)
    for e in range(keys.size):
        next_place[keys[e] + 1] += 1
    for key in range(ends.size):
        next_place[key + 1] += next_place[key]
        ends[key] = next_place[key + 1]
    for e in range(keys.size):
        places[e] = next_place[keys[e]]
        next_place[keys[e]] += 1


@numba.njit
def fill_row(
    row: Any, source_ends: Any, word: Any, degrees: Any, source_population: Any, starts: Any, sizes: Any,
    means: Any, sds: Any, tables: Any, low: Any, part_starts: Any, bits: Any, entries: Any, indptr: Any,
) -> None:  # fmt: skip
    """Draw the synapses of a source, by part and in the order of their delays."""
    parts, neurons, source, size = indptr.shape[0], part_starts[-1], source_population[row], 0
    for part in range(parts):
        size += source_ends[part, row + 1] - source_ends[part, row]
    targets, steps = np.empty(size, np.int32), np.empty(size, np.uint8)
    codes, keys = np.empty(size, np.int16), np.empty(size, np.int32)
    places, ends = np.empty(size, np.int64), np.empty(parts * SLOTS, np.int64)
    draw_row(
        word, row, degrees[row], starts, sizes, means[source], sds[source], tables[source],
        low, low + neurons, targets, steps, codes,
    )  # fmt: skip
    for e in range(size):
        keys[e] = part_of(targets[e], part_starts) * SLOTS + steps[e]
    places_by(keys, places, ends)
    shifts = np.empty(parts, np.int64)  # from the rank of a synapse to its place
    for part in range(parts):
        shifts[part] = source_ends[part, row] - (ends[part * SLOTS - 1] if part else 0)
        for slot in range(SLOTS):
            indptr[part, row * SLOTS + slot + 1] = ends[part * SLOTS + slot] + shifts[part]
    for e in range(size):
        part = part_of(targets[e], part_starts)
        column = np.uint32(targets[e] - part_starts[part])
        entries[places[e] + shifts[part]] = np.uint32(np.int32(codes[e]) << bits) | column


@numba.njit(parallel=True)
def fill_rows(
    begin: Any, end: Any, source_ends: Any, key: Any, degrees: Any, source_population: Any, starts: Any,
    sizes: Any, means: Any, sds: Any, tables: Any, first: Any, part_starts: Any, bits: Any, entries: Any,
    indptr: Any,
) -> None:  # fmt: skip
    """Draw the synapses of sources begin to end."""
    low, word = np.int64(first[()]), np.uint64(key[()])
    for row in prange(begin, end):
        fill_row(
            row, source_ends, word, degrees, source_population, starts, sizes, means, sds, tables, low,
            part_starts, bits, entries, indptr,
        )  # fmt: skip
