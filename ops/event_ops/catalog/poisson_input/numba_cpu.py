"""Poisson numbers on the CPU: the words of some blocks, then their table entries, then the numbers.

Each has a loop of its own, so that only the lookups of entries do not vectorise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.checks.contracts import MAX_MEAN
from event_ops.parts.numba_cpu.access import at, hoist
from event_ops.parts.numba_cpu.jit import njit, num_threads
from event_ops.parts.numba_cpu.random_numbers import outcome, philox2x32, place_of
from event_ops.parts.reference import poisson
from ffi_bridge import numba_kernel

# A neuron takes about 1 ns: for fewer than this a parallel launch costs more than a second thread saves.
MIN_PARALLEL = 1 << 14

_BLOCK: Final = np.uintp(poisson.BLOCK)
_HALF: Final = np.uintp(poisson.HALF)
_BITS: Final = np.uint32(poisson.NUMBER_BITS)
_PARTS: Final = poisson.PARTS
_PART_BIT: Final = np.uintp(poisson.PART_BIT)
_FIRST_TABLES: Final = poisson.FIRST_TABLES
_BASE: Final = float(poisson.BASE)
_REST: Final = float(poisson.REST)
_AT_ONCE: Final = np.uintp(8)  # blocks: their words and entries stay in the nearest cache


@njit
def draw_words(first: Any, last: Any, part: int, time: Any, key: Any, words: Any) -> None:
    """Write the words of the blocks from `first` up to `last` for one part of the mean."""
    for block in range(first, last):
        start, counter = (block - first) * _BLOCK, (np.uintp(part) << _PART_BIT) + block * _HALF
        for k in range(_HALF):
            words[start + k], words[start + k + _HALF] = philox2x32(counter + k, time, key)


@njit
def new_buffer() -> Any:
    """Return space for the words and the entries of the blocks that are drawn at once."""
    return np.empty((2, _AT_ONCE * _BLOCK), np.uint32)


@njit
def draw_blocks(
    weight: Any, seed: Any, step: Any, tables: Any, which: Any, y: Any, low: int, high: int, buffer: Any
) -> None:
    """Draw for the neurons of the blocks from `low` to `high`; the last block may be incomplete."""
    weights, key, time = hoist(weight), hoist(seed), hoist(step)
    words, entries = buffer[0], buffer[1]
    for first in range(np.uintp(low), np.uintp(high), _AT_ONCE):
        last, start = min(first + _AT_ONCE, np.uintp(high)), first * _BLOCK
        draw_words(first, last, 0, time, key, words)
        count = min(last * _BLOCK, np.uintp(y.size)) - start
        for k in range(count):
            entries[k] = place_of(np.uint32(which[start + k]) << _BITS, words[k], _BITS)
        for k in range(count):
            entries[k] = tables[np.uintp(entries[k])]
        for k in range(count):
            number = np.int32(outcome(entries[k], words[k], _BITS))
            y[start + k] += at(weights, start + k) * y.dtype.type(number)


@njit
def rest_number(rest: Any, word: Any) -> Any:
    """Return the number that a word chooses for a rest: see parts/reference/poisson.py; all uint32."""
    half = rest >> np.uint32(5)
    twice = np.uint32(half * half) >> np.uint32(23)
    return np.uint32(word < np.uint32(rest - twice)) + np.uint32(word < twice)


@njit
def draw_blocks_of_data(
    weight: Any, seed: Any, step: Any, tables: Any, mean: Any, y: Any, low: int, high: int, buffer: Any
) -> None:
    """Draw as `draw_blocks` does for means that are data: digit by digit, then the rest."""
    weights, key, time, means = hoist(weight), hoist(seed), hoist(step), hoist(mean)
    words, entries = buffer[0], buffer[1]
    numbers, left = np.empty_like(words), np.empty(words.size)
    for first in range(np.uintp(low), np.uintp(high), _AT_ONCE):
        last, start = min(first + _AT_ONCE, np.uintp(high)), first * _BLOCK
        count = min(last * _BLOCK, np.uintp(y.size)) - start
        for k in range(count):
            wanted = at(means, start + k)
            left[k] = wanted if wanted >= 0 and wanted <= MAX_MEAN else 0
            numbers[k] = 0
        for part in range(_PARTS):
            draw_words(first, last, part, time, key, words)
            table, scale = np.uint32(_FIRST_TABLES[part]), _BASE if part else 1.0
            for k in range(count):
                scaled = left[k] * scale
                digit = np.int32(scaled)
                left[k] = scaled - digit
                entries[k] = place_of(np.uint32(np.uint32(digit) + table) << _BITS, words[k], _BITS)
            for k in range(count):
                entries[k] = tables[np.uintp(entries[k])]
            for k in range(count):
                numbers[k] += outcome(entries[k], words[k], _BITS)
        draw_words(first, last, _PARTS, time, key, words)
        for k in range(count):
            wanted = at(means, start + k)
            rest = np.uint32(np.int32(left[k] * _REST + 0.5))
            number = y.dtype.type(np.int32(numbers[k] + rest_number(rest, words[k])))
            new = y[start + k] + at(weights, start + k) * number
            y[start + k] = new if wanted >= 0 and wanted <= MAX_MEAN else np.nan


@cache
def kernel_with(draw: Any, large: bool) -> Any:
    """Return the kernel for one thread, or for all; `draw` is `draw_blocks` or its variant for data.

    initial and y are the same memory; XLA copies initial first where it is needed again.
    """

    @njit(parallel=large)
    def poisson_input(
        weight: Any, seed: Any, step: Any, tables: Any, which: Any, initial: Any, y: Any
    ) -> None:
        blocks, parts = (y.size + 63) // 64, num_threads() if large else 1
        for part in prange(parts):
            low, high = blocks * part // parts, blocks * (part + 1) // parts
            draw(weight, seed, step, tables, which, y, low, high, new_buffer())

    return poisson_input


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the native call for so many neurons: floats in `which` are means, integers name their tables."""
    large = reaches(outs.size, MIN_PARALLEL)

    def call(weight: Any, seed: Any, step: Any, tables: Any, which: Any, initial: Any) -> Any:
        draw = draw_blocks_of_data if which.dtype.kind == "f" else draw_blocks
        run = numba_kernel(kernel_with(draw, large), outs, input_output_aliases={5: 0})
        return run(weight, seed, step, tables, which, initial)

    return call
