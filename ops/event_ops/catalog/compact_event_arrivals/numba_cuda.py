"""Arrivals through synapses with delays whose entries are words, on a GPU: the rows of recent events."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.checks.words import NARROW_BITS, are_narrow
from event_ops.parts.numba_cuda.access import at, is_inside
from event_ops.parts.numba_cuda.history import deliver_recent
from event_ops.parts.numba_cuda.words import code_of, column_in
from ffi_bridge import numba_cuda_callable


@cuda.jit(device=True)
def bits_for(columns: Any) -> Any:
    """Return how many bits of a word hold a column."""
    return np.int32(64 - cuda.clz(np.int64(columns - 1))) if columns > 1 else np.int32(0)


@cuda.jit(device=True)
def narrow_bits(_columns: Any) -> Any:
    """Return how many bits of a narrow word hold a column."""
    return np.int32(NARROW_BITS)


@cache
def add_row_with(bits_for: Any, code_in: Any) -> Any:
    """Return what adds a row of words, of which these tell the bits and the codes."""

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
            if is_inside(column, width) and is_inside(target, y.size):
                cuda.atomic.add(y, np.uint64(target), y.dtype.type(code_in(word, bits)) * scaled)
            k += np.uint64(step)

    return add_row


# initial and y are the same memory.
def compact_event_arrivals(
    history: Any, entries: Any, indptr: Any, scale: Any, slot: Any, starts: Any, initial: Any, y: Any,
    stream: Any,
) -> None:  # fmt: skip
    """Launch the kernel for the encoding of the history."""
    add_row = add_row_with(narrow_bits if are_narrow(entries) else bits_for, code_of(entries))
    deliver_recent(history, scale, entries, indptr, starts, slot, y, stream, add_row)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the longer rows are, the more threads share one."""
    run = numba_cuda_callable(compact_event_arrivals, outs, input_output_aliases={6: 0})

    def call(history: Any, entries: Any, indptr: Any, scale: Any, *rest: Any) -> Any:
        return run(history, entries, indptr, scale.reshape(-1), *rest)

    return call
