"""Poisson numbers on the CPU: the words of some blocks, then the entries that these find, then the numbers.

One loop for each, so that only the entries are taken one by one and the other two vectorise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numba import prange

from event_ops import poisson
from event_ops.numba_parts.access import at, hoist
from event_ops.numba_parts.alias import outcome, place_of
from event_ops.numba_parts.jit import njit
from event_ops.numba_parts.philox import philox2x32
from event_ops.numba_parts.threads import num_threads
from ffi_bridge import numba_kernel

# A neuron takes about 1 ns: below this many a parallel launch costs more than the second thread saves.
MIN_PARALLEL = 1 << 14

_BLOCK: Final = np.uintp(poisson.BLOCK)
_HALF: Final = np.uintp(poisson.HALF)
_BITS: Final = np.uint32(poisson.NUMBER_BITS)
_AT_ONCE: Final = np.uintp(8)  # blocks: their words and entries stay in the nearest cache


@njit
def draw_words(first: Any, last: Any, time: Any, key: Any, words: Any) -> None:
    """The words of the blocks from `first` up to `last`."""
    for block in range(first, last):
        start = (block - first) * _BLOCK
        for k in range(_HALF):
            words[start + k], words[start + k + _HALF] = philox2x32(block * _HALF + k, time, key)


@njit
def new_buffer() -> Any:
    """Space for the words and the entries of the blocks that are drawn at once."""
    return np.empty((2, _AT_ONCE * _BLOCK), np.uint32)


@njit
def draw_blocks(
    weight: Any, seed: Any, step: Any, tables: Any, which: Any, y: Any, low: int, high: int, buffer: Any
) -> None:
    """The neurons of the blocks from `low` to `high`; the last one may be incomplete."""
    weights, key, time = hoist(weight), hoist(seed), hoist(step)
    words, entries = buffer[0], buffer[1]
    for first in range(np.uintp(low), np.uintp(high), _AT_ONCE):
        last, start = min(first + _AT_ONCE, np.uintp(high)), first * _BLOCK
        draw_words(first, last, time, key, words)
        count = min(last * _BLOCK, np.uintp(y.size)) - start
        for k in range(count):
            entries[k] = place_of(np.uint32(which[start + k]) << _BITS, words[k], _BITS)
        for k in range(count):
            entries[k] = tables[np.uintp(entries[k])]
        for k in range(count):
            number = np.int32(outcome(entries[k], words[k], _BITS))
            y[start + k] += at(weights, start + k) * y.dtype.type(number)


# initial and y are the same memory; XLA copies initial first where it is needed again.
@njit
def poisson_input(weight: Any, seed: Any, step: Any, tables: Any, which: Any, initial: Any, y: Any) -> None:
    draw_blocks(weight, seed, step, tables, which, y, 0, (y.size + 63) // 64, new_buffer())


@njit(parallel=True)
def poisson_input_parallel(
    weight: Any, seed: Any, step: Any, tables: Any, which: Any, initial: Any, y: Any
) -> None:
    blocks, parts = (y.size + 63) // 64, num_threads()
    for part in prange(parts):
        low, high = blocks * part // parts, blocks * (part + 1) // parts
        draw_blocks(weight, seed, step, tables, which, y, low, high, new_buffer())


def generator(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """The callable; the number of neurons decides between one thread and all."""
    kernel = poisson_input if outs.size < MIN_PARALLEL else poisson_input_parallel
    return numba_kernel(kernel, outs, input_output_aliases={5: 0})
