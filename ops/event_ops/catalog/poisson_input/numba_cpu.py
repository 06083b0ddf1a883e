"""Poisson numbers on the CPU, block by block: bytes of all neurons, their numbers, the words of a few.

Each has a loop of its own, so that all but lookups vectorise.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.checks.contracts import MAX_MEAN
from event_ops.kernels.numba_cpu.access import at, hoist
from event_ops.kernels.numba_cpu.jit import njit, num_threads
from event_ops.kernels.numba_cpu.packed_events import FLAGS, append_bits, bits_at, trailing_zeros
from event_ops.kernels.numba_cpu.philox import write_bits
from event_ops.kernels.numba_cpu.random_numbers import chosen, outcome, place_of, poisson_word, rest_number
from event_ops.kernels.reference import poisson
from ffi_bridge import numba_kernel

# A neuron takes about half a nanosecond: for fewer, a parallel launch costs more than a second thread saves.
MIN_PARALLEL = 1 << 15

_SHARE_OF_BYTES: Final = np.uintp(poisson.SHARE_OF_BYTES)
_SHARE_OF_WORDS: Final = np.uintp(poisson.SHARE_OF_WORDS)
_STREAM_BIT: Final = np.uint64(poisson.STREAM_BIT)
_NUMBER_BITS: Final = np.uint32(poisson.NUMBER_BITS)
_TABLE_BITS: Final = np.uint32(poisson.TABLE_BITS)
_LIMIT_SHIFT: Final = np.uint32(poisson.LIMIT_SHIFT)
_REST_OF_TABLE: Final = np.uint32(1 << poisson.NUMBER_BITS)
_OPEN: Final = np.uint8(poisson.OPEN)
_PARTS: Final = poisson.PARTS
_FIRST_TABLES: Final = poisson.FIRST_TABLES
_BASE: Final = float(poisson.BASE)
_REST: Final = float(poisson.REST)
_COUNTERS: Final = 32  # that are worked on at a time: with more, processors run out of registers
_ROOM: Final = 2048  # neurons: their bits and numbers stay in the nearest cache
_AT_ONCE: Final = _ROOM - poisson.SHARE_OF_BYTES  # for the first of them is anywhere in a counter
_LAST_FLAG: Final = np.uint64(1 << 63)  # keeps a word without flags from being 0
_GROUP: Final = 256  # neurons that compare bytes with limits if all of them have the same table


@njit
def draw_bits(start: Any, share: Any, stream: Any, time: Any, key: Any, bits: Any) -> Any:
    """Write bits from the counter of neuron `start` on; return which of its neurons that is."""
    first = (np.uint64(stream) << _STREAM_BIT) + np.uint64(start // share)
    for k in range(np.uintp(0), np.uintp(bits.size), np.uintp(_COUNTERS)):
        write_bits(first + np.uint64(k), np.uint64(time), np.uint64(key), bits, k, _COUNTERS)
    return start % share


@njit
def limit(tables: Any, place: Any) -> Any:
    """Return how many bytes choose a number up to that of an entry."""
    return np.uint8(tables[np.uintp(place)] >> _LIMIT_SHIFT)


# Bytes of one table are compared, which takes two thirds of the time of lookups for a mean of about 1.
@njit
def compare(
    tables: Any, table: Any, drawn: Any, skipped: Any, begin: Any, end: Any, numbers: Any, is_open: Any
) -> None:
    """Write how many limits of a table each byte reaches, and whether it reaches the last."""
    least, last = np.uint8(tables[np.uintp(table)]), limit(tables, table + _REST_OF_TABLE - np.uint32(1))
    for k in range(begin, end):
        numbers[k], is_open[k] = least, drawn[skipped + k] >= last
    place = np.uint32(table + least)
    while limit(tables, place) < last:
        a, b = limit(tables, place), limit(tables, place + np.uint32(1))
        c, d = limit(tables, place + np.uint32(2)), limit(tables, place + np.uint32(3))
        for k in range(begin, end):
            byte = drawn[skipped + k]
            numbers[k] += np.uint8(byte >= a) + np.uint8(byte >= b)
            numbers[k] += np.uint8(byte >= c) + np.uint8(byte >= d)
        place = np.uint32(place + np.uint32(4))


@njit
def look_up(
    tables: Any, which: Any, start: Any, drawn: Any, skipped: Any, begin: Any, end: Any, numbers: Any,
    is_open: Any,
) -> None:  # fmt: skip
    """Write the number that each byte chooses by the neuron's table, and whether the number is `OPEN`."""
    for k in range(begin, end):
        table = np.uint32(which[start + k]) << _TABLE_BITS
        numbers[k] = tables[np.uintp(table | drawn[skipped + k])]
    for k in range(begin, end):
        is_open[k] = numbers[k] == _OPEN


@njit
def are_equal(values: Any, begin: Any, end: Any) -> Any:
    """Return whether the values from `begin` up to `end` are equal."""
    different, first = np.uint16(0), values[begin]
    for k in range(begin, end):
        different = np.uint16(different | (values[k] ^ first))
    return different == np.uint16(0)


@njit
def list_open(is_open: Any, count: Any, ids: Any) -> Any:
    """Write which of the first `count` neurons are open into `ids`; return how many are.

    Of 64 about one is open, or none, or two, which no processor predicts: so two turns without a branch come
    first, whose ids count only where a flag is set.
    """
    for k in range(count, np.uintp(_ROOM)):
        is_open[k] = False
    listed = np.uintp(0)
    for begin in range(np.uintp(0), count, FLAGS):
        word = bits_at(is_open, begin)
        for _ in range(2):
            ids[listed] = begin + trailing_zeros(word | _LAST_FLAG)
            listed += np.uintp(word != np.uint64(0))
            word &= word - np.uint64(1)
        listed = append_bits(word, begin, ids, listed)
    return listed


@njit
def draw(
    weight: Any, seed: Any, step: Any, first: Any, tables: Any, which: Any, y: Any, low: Any, high: Any
) -> None:
    """Draw for the neurons from first + `low` up to first + `high`."""
    weights, key, time, neuron = hoist(weight), hoist(seed), hoist(step), np.uintp(hoist(first))
    bits = np.empty(_ROOM // poisson.SHARE_OF_BYTES, np.uint64)
    drawn, numbers, is_open = bits.view(np.uint8), np.empty(_ROOM, np.uint8), np.empty(_ROOM, np.bool_)
    ids, words = np.empty(_ROOM, np.uint32), np.empty(_ROOM, np.uint32)
    for start in range(np.uintp(low), np.uintp(high), np.uintp(_AT_ONCE)):
        count = min(np.uintp(_AT_ONCE), np.uintp(high) - start)
        skipped = draw_bits(neuron + start, _SHARE_OF_BYTES, 0, time, key, bits)
        for begin in range(np.uintp(0), count, np.uintp(_GROUP)):
            end = min(begin + np.uintp(_GROUP), count)
            if are_equal(which, start + begin, start + end):
                table = np.uint32(which[start + begin]) << _TABLE_BITS
                compare(tables, table, drawn, skipped, begin, end, numbers, is_open)
            else:
                look_up(tables, which, start, drawn, skipped, begin, end, numbers, is_open)
        num_open = list_open(is_open, count, ids)
        for position in range(num_open):
            words[position] = poisson_word(neuron + start + ids[position], 1, time, key)
        for position in range(num_open):
            k = np.uintp(ids[position])
            table = np.uint32(which[start + k]) << _TABLE_BITS
            numbers[k] = chosen(tables, table | _REST_OF_TABLE, words[position], _NUMBER_BITS)
        for k in range(count):
            y[start + k] += at(weights, start + k) * y.dtype.type(np.int32(numbers[k]))


@njit
def draw_of_data(
    weight: Any, seed: Any, step: Any, first: Any, tables: Any, mean: Any, y: Any, low: Any, high: Any
) -> None:
    """Draw as `draw` does for means that are data: digit by digit, then the rest."""
    weights, key, time, means = hoist(weight), hoist(seed), hoist(step), hoist(mean)
    neuron, bits = np.uintp(hoist(first)), np.empty(_ROOM // poisson.SHARE_OF_WORDS, np.uint64)
    words, left = bits.view(np.uint32), np.empty(_AT_ONCE)
    entries, numbers = np.empty(_AT_ONCE, np.uint32), np.empty(_AT_ONCE, np.uint32)
    for start in range(np.uintp(low), np.uintp(high), np.uintp(_AT_ONCE)):
        count = min(np.uintp(_AT_ONCE), np.uintp(high) - start)
        for k in range(count):
            wanted = at(means, start + k)
            # NaN is in neither range; below, its number becomes NaN.
            left[k] = wanted if wanted >= 0 and wanted <= MAX_MEAN else 0
            numbers[k] = 0
        for part in range(_PARTS):
            skipped = draw_bits(neuron + start, _SHARE_OF_WORDS, part, time, key, bits)
            table, scale = np.uint32(_FIRST_TABLES[part]), _BASE if part else 1.0
            for k in range(count):
                scaled = left[k] * scale
                digit = np.int32(scaled)
                left[k] = scaled - digit
                begin = np.uint32(np.uint32(digit) + table) << _NUMBER_BITS
                entries[k] = place_of(begin, words[skipped + k], _NUMBER_BITS)
            for k in range(count):
                entries[k] = tables[np.uintp(entries[k])]
            for k in range(count):
                numbers[k] += outcome(entries[k], words[skipped + k], _NUMBER_BITS)
        skipped = draw_bits(neuron + start, _SHARE_OF_WORDS, _PARTS, time, key, bits)
        for k in range(count):
            wanted = at(means, start + k)
            rest = np.uint32(np.int32(left[k] * _REST + 0.5))
            number = y.dtype.type(np.int32(numbers[k] + rest_number(rest, words[skipped + k])))
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
