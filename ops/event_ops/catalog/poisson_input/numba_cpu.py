"""Poisson numbers on the CPU: the words of some blocks, then their table entries, then the numbers.

Each has a loop of its own, so that only the lookups of entries do not vectorise.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.checks.contracts import MAX_MEAN
from event_ops.kernels.numba_cpu.access import at, hoist
from event_ops.kernels.numba_cpu.events import active_ids
from event_ops.kernels.numba_cpu.jit import njit, num_threads
from event_ops.kernels.numba_cpu.random_numbers import outcome, place_of, poisson_bits, rest_number
from event_ops.kernels.reference import poisson
from ffi_bridge import numba_kernel

# A neuron takes about 1 ns: for fewer than this a parallel launch costs more than a second thread saves.
MIN_PARALLEL = 1 << 14

_SHARE: Final = np.uintp(poisson.SHARE)
_BITS: Final = np.uint32(poisson.BITS)
_NUMBER_BITS: Final = np.uint32(poisson.NUMBER_BITS)
_LOW_BITS: Final = np.uint32((1 << poisson.BITS) - 1)
_PARTS: Final = poisson.PARTS
_FIRST_TABLES: Final = poisson.FIRST_TABLES
_BASE: Final = float(poisson.BASE)
_REST: Final = float(poisson.REST)
_AT_ONCE: Final = 512  # neurons: their bits and entries stay in the nearest cache
_ROOM: Final = _AT_ONCE + poisson.SHARE  # for their bits: the first of them is anywhere in a counter


@njit
def draw_bits(start: Any, stream: Any, time: Any, key: Any, bits: Any) -> Any:
    """Write the bits of the neurons from `start` on, uint16; return the part for `_AT_ONCE` neurons."""
    wide, counter, skipped = bits.view(np.uint64), np.uint64(start // _SHARE), start % _SHARE
    for k in range(np.uint64(wide.size)):
        wide[k] = poisson_bits(counter + k, stream, time, key)
    return bits[skipped : skipped + np.uintp(_AT_ONCE)]


@njit
def draw_word(i: Any, high: Any, time: Any, key: Any) -> Any:
    """Return the word of neuron i, of which `high` is known."""
    low = poisson_bits(i // _SHARE, 1, time, key) >> (i % _SHARE * np.uintp(_BITS))
    return np.uint32(high) << _BITS | (np.uint32(low) & _LOW_BITS)


@njit
def draw_words(start: Any, part: Any, time: Any, key: Any, bits: Any, words: Any) -> None:
    """Write the words of the neurons from `start` on for one part of the mean."""
    high = draw_bits(start, 2 * part, time, key, bits[0])
    low = draw_bits(start, 2 * part + 1, time, key, bits[1])
    for k in range(np.uintp(words.size)):
        words[k] = np.uint32(high[k]) << _BITS | np.uint32(low[k])


@njit
def draw(
    weight: Any, seed: Any, step: Any, first: Any, tables: Any, which: Any, y: Any, low: Any, high: Any
) -> None:
    """Draw for the neurons from first + `low` up to first + `high`."""
    weights, key, time, neuron = hoist(weight), hoist(seed), hoist(step), np.uintp(hoist(first))
    room, is_open = np.empty(_ROOM, np.uint16), np.empty(_AT_ONCE, np.bool_)
    words = np.empty((3, _AT_ONCE), np.uint32)
    entries, numbers, ids = words[0], words[1], words[2]
    for start in range(np.uintp(low), np.uintp(high), np.uintp(_AT_ONCE)):
        count = min(np.uintp(_AT_ONCE), np.uintp(high) - start)
        bits = draw_bits(neuron + start, 0, time, key, room)
        for k in range(count):
            word = np.uint32(bits[k]) << _BITS
            entries[k] = place_of(np.uint32(which[start + k]) << _NUMBER_BITS, word, _NUMBER_BITS)
        for k in range(count):
            entries[k] = tables[np.uintp(entries[k])]
        for k in range(count):
            word = np.uint32(bits[k]) << _BITS
            numbers[k] = outcome(entries[k], word, _NUMBER_BITS)
            # The low bits are drawn only where they decide: if the least and largest choose differently.
            is_open[k] = numbers[k] != outcome(entries[k], word | _LOW_BITS, _NUMBER_BITS)
        for position in range(active_ids(is_open[:count], ids)):
            k = np.uintp(ids[position])
            word = draw_word(neuron + start + k, bits[k], time, key)
            numbers[k] = outcome(entries[k], word, _NUMBER_BITS)
        for k in range(count):
            y[start + k] += at(weights, start + k) * y.dtype.type(np.int32(numbers[k]))


@njit
def draw_of_data(
    weight: Any, seed: Any, step: Any, first: Any, tables: Any, mean: Any, y: Any, low: Any, high: Any
) -> None:
    """Draw as `draw` does for means that are data: digit by digit, then the rest."""
    weights, key, time, means = hoist(weight), hoist(seed), hoist(step), hoist(mean)
    bits, words, neuron = (
        np.empty((2, _ROOM), np.uint16),
        np.empty(_AT_ONCE, np.uint32),
        np.uintp(hoist(first)),
    )
    entries, numbers, left = np.empty_like(words), np.empty_like(words), np.empty(words.size)
    for start in range(np.uintp(low), np.uintp(high), np.uintp(_AT_ONCE)):
        count = min(np.uintp(_AT_ONCE), np.uintp(high) - start)
        for k in range(count):
            wanted = at(means, start + k)
            # NaN is in neither range; below, its number becomes NaN.
            left[k] = wanted if wanted >= 0 and wanted <= MAX_MEAN else 0
            numbers[k] = 0
        for part in range(_PARTS):
            draw_words(neuron + start, part, time, key, bits, words)
            table, scale = np.uint32(_FIRST_TABLES[part]), _BASE if part else 1.0
            for k in range(count):
                scaled = left[k] * scale
                digit = np.int32(scaled)
                left[k] = scaled - digit
                begin = np.uint32(np.uint32(digit) + table) << _NUMBER_BITS
                entries[k] = place_of(begin, words[k], _NUMBER_BITS)
            for k in range(count):
                entries[k] = tables[np.uintp(entries[k])]
            for k in range(count):
                numbers[k] += outcome(entries[k], words[k], _NUMBER_BITS)
        draw_words(neuron + start, _PARTS, time, key, bits, words)
        for k in range(count):
            wanted = at(means, start + k)
            rest = np.uint32(np.int32(left[k] * _REST + 0.5))
            number = y.dtype.type(np.int32(numbers[k] + rest_number(rest, words[k])))
            new = y[start + k] + at(weights, start + k) * number
            y[start + k] = new if wanted >= 0 and wanted <= MAX_MEAN else np.nan


@cache
def make_kernel(draw: Any, large: bool) -> Any:
    """Return the kernel for one thread, or for all; `draw` is that of tables or that of data.

    initial and y are the same memory; XLA copies initial first where it is needed again.
    """

    @njit(parallel=large)
    def poisson_input(
        weight: Any, seed: Any, step: Any, first: Any, tables: Any, which: Any, initial: Any, y: Any
    ) -> None:
        chunks, parts = -(-y.size // _AT_ONCE), num_threads() if large else 1
        for part in prange(parts):
            low, high = chunks * part // parts * _AT_ONCE, chunks * (part + 1) // parts * _AT_ONCE
            draw(weight, seed, step, first, tables, which, y, low, min(high, y.size))

    return poisson_input


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the native call; floats in `which` are means, integers name their tables."""
    large = reaches(outs.size, MIN_PARALLEL)

    def call(weight: Any, seed: Any, step: Any, first: Any, tables: Any, which: Any, initial: Any) -> Any:
        chosen = draw_of_data if which.dtype.kind == "f" else draw
        run = numba_kernel(make_kernel(chosen, large), outs, input_output_aliases={6: 0})
        return run(weight, seed, step, first, tables, which, initial)

    return call
