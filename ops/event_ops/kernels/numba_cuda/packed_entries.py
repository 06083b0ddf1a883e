"""Rows of a CSR matrix whose entries are words of 32 or 16 bits, by as many threads as suit their length."""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, from_dtype

from event_ops.checks.packed_entries import NARROW_BITS, are_narrow
from event_ops.kernels.numba_cuda.access import at, is_active, is_inside
from event_ops.kernels.numba_cuda.by_length import make_begin, make_take_rows, reach, within
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import OCCUPIED, WARPS, sum_over_team


@cuda.jit(device=True)
def column_in(word: Any, bits: Any) -> Any:
    """Return the column that a word holds in its lowest `bits`."""
    return np.uint64(word) & ((np.uint64(1) << np.uint64(bits)) - np.uint64(1))


@cuda.jit(device=True)
def code_in(word: Any, bits: Any) -> Any:
    """Return the code of a word, with its sign."""
    return np.int32(word) >> np.int32(bits)


@cuda.jit(device=True)
def one_for(_word: Any, _bits: Any) -> Any:
    """Return 1, the code of a narrow word."""
    return np.int32(1)


def code_of(words: Any) -> Any:
    """Return the device function for the codes of words of this dtype."""
    return one_for if are_narrow(words) else code_in


@cuda.jit(device=True)
def bits_for(columns: Any) -> Any:
    """Return how many bits of a word hold a column."""
    return np.int32(64 - cuda.clz(np.int64(columns - 1))) if columns > 1 else np.int32(0)


@cuda.jit(device=True)
def narrow_bits(_columns: Any) -> Any:
    """Return how many bits of a narrow word hold a column."""
    return np.int32(NARROW_BITS)


@cache
def make_add_row(bits_for: Any, code_in: Any) -> Any:
    """Return the device function that adds a row of words, given the functions for bits and codes."""

    @cuda.jit(device=True)
    def add_row(
        scale: Any, words: Any, i: Any, first: Any, width: Any, begin: Any, end: Any, step: Any, value: Any,
        y: Any,
    ) -> None:  # fmt: skip
        """y[first + column] += code * scale[i] * value for every `step`-th word from `begin` up to `end`."""
        bits, scaled = bits_for(y.size), at(scale, i) * value
        k = np.uint64(begin)
        while k < np.uint64(end):
            word = words[k]
            column = column_in(word, bits)
            target = np.int64(column) + first
            # The part's own bound, and that of y: `starts` comes from outside.
            if is_inside(column, width) and is_inside(target, y.size):
                cuda.atomic.add(y, np.uint64(target), y.dtype.type(code_in(word, bits)) * scaled)
            k += np.uint64(step)

    return add_row


def add_row_of(words: Any) -> Any:
    """Return the device function that adds a row of words of this dtype, for `recent_sums`."""
    return make_add_row(narrow_bits if are_narrow(words) else bits_for, code_of(words))


@cache
def make_gather_words(lanes: int, ahead: int, dtype: Any, code_in: Any) -> Any:
    """Return the kernel `y[i] = scale[i] * (sum of code * x[column] over row i)`; mostly `lanes` threads."""
    number, shared = dtype.type, from_dtype(dtype)

    def make_take(lanes: int) -> Any:
        total_of, begin = sum_over_team(lanes, 1, dtype.kind), make_begin(lanes)

        @cuda.jit(device=True)
        def take(operands: Any, i: Any, low: Any, high: Any, lane: Any, mine: Any) -> None:
            words, scale, x, bits, y, of_warp = operands
            total, met = number(0), cuda.local.array(ahead, words.dtype)
            if mine and low < high and x.size > 0:
                k = begin(low) + lane
                while k - lane < high:
                    # No branch keeps loads apart: a word that does not count reads what is near.
                    reached = reach(k, low, high)
                    for n in range(ahead):
                        met[n] = words[np.uint64(k + within(n * lanes, reached))]
                    for n in range(ahead):
                        j = column_in(met[n], bits)
                        counts = (within(n * lanes, reached) == n * lanes) & is_inside(j, x.size)
                        value = number(code_in(met[n], bits)) * x[j if counts else np.uint64(0)]
                        total += value if counts else number(0)
                    k += ahead * lanes
            total = total_of(total, of_warp)
            if mine and lane == 0:
                # Inactive events add exactly 0, also to a row whose scale is infinite or NaN.
                y[np.uint64(i)] = at(scale, i) * total if is_active(total) else total

        return take

    take_rows = make_take_rows(1, lanes, csr_row, make_take)

    @cuda.jit(launch_bounds=OCCUPIED)
    def gather_words(words: Any, indptr: Any, scale: Any, x: Any, bits: Any, y: Any) -> None:
        of_warp = cuda.shared.array(WARPS, shared)
        take_rows((words, scale, x, bits, y, of_warp), indptr, words.size, y.size)

    return gather_words


@cache
def make_scatter_words(lanes: int, ahead: int, dtype: Any, code_in: Any) -> Any:
    """Return the kernel `y[column] += code * x[i]` over every row i where x is not 0."""
    number = dtype.type

    def make_take(lanes: int) -> Any:
        begin = make_begin(lanes)

        @cuda.jit(device=True)
        def take(operands: Any, i: Any, low: Any, high: Any, lane: Any, mine: Any) -> None:
            words, x, bits, y = operands
            met = cuda.local.array(ahead, words.dtype)
            if mine and low < high and is_active(x[np.uint64(i)]):
                value, k = x[np.uint64(i)], begin(low) + lane
                while k - lane < high:
                    # All is read before anything is added, behind which a load would wait.
                    reached = reach(k, low, high)
                    for n in range(ahead):
                        met[n] = words[np.uint64(k + within(n * lanes, reached))]
                    for n in range(ahead):
                        j = column_in(met[n], bits)
                        if within(n * lanes, reached) == n * lanes and is_inside(j, y.size):
                            cuda.atomic.add(y, j, number(code_in(met[n], bits)) * value)
                    k += ahead * lanes

        return take

    take_rows = make_take_rows(1, lanes, csr_row, make_take)

    @cuda.jit(launch_bounds=OCCUPIED)
    def scatter_words(words: Any, indptr: Any, x: Any, bits: Any, y: Any) -> None:
        take_rows((words, x, bits, y), indptr, words.size, x.size)

    return scatter_words
