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

NO_PAIR: Final = np.uint64(1 << 63)

_WORD_BITS: Final = np.uint64(32)
_UNIT: Final = 2.0**-32


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


@numba.njit(parallel=True)
def count_sources(key: Any, projection: Any, synapses: Any, counts: Any) -> None:
    """Add to counts[part, i] how many synapses of a part of a projection begin at its source i."""
    parts, sources = counts.shape[0], np.uint64(counts.shape[1])
    pairs = (synapses + 1) // 2
    for part in prange(parts):
        mine = counts[part]
        for pair in range(np.uint64(pairs * part // parts), np.uint64(pairs * (part + 1) // parts)):
            first, second = philox2x32(pair, SOURCES + np.uint64(projection), key)
            mine[first * sources >> _WORD_BITS] += 1
            if np.uint64(2) * pair + np.uint64(1) < np.uint64(synapses):
                mine[second * sources >> _WORD_BITS] += 1


@numba.njit(inline="always")
def two_normals(key: Any, row: Any, pair: Any) -> Any:
    """Return two standard normal deviates, by Box and Muller; below 6.7 in size."""
    first, second = philox2x32(NORMALS + pair, row, key)
    radius = math.sqrt(-2.0 * math.log((np.float64(first) + 1.0) * _UNIT))
    angle = 2.0 * math.pi * _UNIT * np.float64(second)
    return radius * math.cos(angle), radius * math.sin(angle)


@numba.njit
def meets(start: Any, size: Any, low: Any, high: Any) -> bool:
    """Return whether a population has a neuron of low to high."""
    return start < high and start + size > low


@numba.njit(inline="always")
def part_of(target: Any, part_starts: Any) -> int:
    """Return the part that has a target."""
    part = 0
    while target >= part_starts[part + 1]:
        part += 1
    return part


@numba.njit(parallel=True)
def count_rows(key: Any, degrees: Any, starts: Any, sizes: Any, part_starts: Any, counts: Any) -> None:
    """Write to counts[part, row] how many synapses of the row are onto the neurons of each part."""
    low, high = part_starts[0], part_starts[-1]
    for row in prange(degrees.shape[0]):
        e = np.uint64(0)
        counts[:, row] = 0
        for p in range(starts.size):
            degree, start, size = degrees[row, p], starts[p], sizes[p]
            whole = low <= start and start + size <= high
            if whole and part_of(start, part_starts) == part_of(start + size - 1, part_starts):
                counts[part_of(start, part_starts), row] += degree
            elif meets(start, size, low, high):
                for each in range(e, e + np.uint64(degree)):
                    first, _ = philox2x32(each, row, key)
                    target = np.int64(np.uint64(start) + (first * np.uint64(size) >> _WORD_BITS))
                    if low <= target < high:
                        counts[part_of(target, part_starts), row] += 1
            e += np.uint64(degree)


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
    drawn, normals = NO_PAIR, (0.0, 0.0)
    for p in range(degrees.size):
        if not meets(starts[p], sizes[p], low, high):
            e += np.uint64(degrees[p])
            continue
        start, size = np.uint64(starts[p]), np.uint64(sizes[p])
        for _ in range(degrees[p]):
            first, second = philox2x32(e, row, key)
            target = np.int64(start + (first * size >> _WORD_BITS))
            if low <= target < high:
                pair = e // np.uint64(2)
                if pair != drawn:
                    drawn, normals = pair, two_normals(key, row, pair)
                targets[kept] = target - low
                steps[kept] = chosen(table, np.uint32(0), np.uint32(second), DELAY_BITS)
                weight = means[p] + sds[p] * (normals[1] if e % np.uint64(2) else normals[0])
                codes[kept] = np.int16(np.rint(weight))
                kept += 1
            e += np.uint64(1)
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


@numba.njit(parallel=True)
def fill_rows(
    begin: Any, end: Any, source_ends: Any, key: Any, degrees: Any, source_population: Any, starts: Any,
    sizes: Any, means: Any, sds: Any, tables: Any, first: Any, part_starts: Any, bits: Any, entries: Any,
    indptr: Any,
) -> None:  # fmt: skip
    """Draw the synapses of sources begin to end, those of each by part and in the order of their delays."""
    low, word, parts, neurons = np.int64(first[()]), np.uint64(key[()]), indptr.shape[0], part_starts[-1]
    for row in prange(begin, end):
        source, size = source_population[row], 0
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
