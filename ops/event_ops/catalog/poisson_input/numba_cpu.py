"""Poisson numbers on the CPU: the words of a block, then a look-up for each of its neurons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numba import prange

from event_ops import poisson
from event_ops.numba_parts.access import at, hoist
from event_ops.numba_parts.alias import chosen
from event_ops.numba_parts.jit import njit
from event_ops.numba_parts.philox import philox2x32
from event_ops.numba_parts.threads import num_threads
from ffi_bridge import numba_kernel

# A neuron takes about 2 ns: below this many a parallel launch costs more than the second thread saves.
MIN_PARALLEL = 1 << 13

_BLOCK: Final = np.uintp(poisson.BLOCK)
_HALF: Final = np.uintp(poisson.HALF)
_BITS: Final = np.uint32(poisson.NUMBER_BITS)


@njit
def draw_blocks(
    weight: Any, seed: Any, step: Any, tables: Any, which: Any, y: Any, low: int, high: int
) -> None:
    """The neurons of the blocks from `low` to `high`; the last one may be incomplete."""
    weights, key, time = hoist(weight), hoist(seed), hoist(step)
    words = np.empty(_BLOCK, np.uint32)
    for block in range(np.uintp(low), np.uintp(high)):
        for k in range(_HALF):
            words[k], words[k + _HALF] = philox2x32(block * _HALF + k, time, key)
        start = block * _BLOCK
        for k in range(min(_BLOCK, np.uintp(y.size) - start)):
            i = start + k
            number = chosen(tables, np.uint32(which[i]) << _BITS, words[k], _BITS)
            y[i] = at(weights, i) * y.dtype.type(number)


@njit
def poisson_input(weight: Any, seed: Any, step: Any, tables: Any, which: Any, y: Any) -> None:
    draw_blocks(weight, seed, step, tables, which, y, 0, (y.size + 63) // 64)


@njit(parallel=True)
def poisson_input_parallel(weight: Any, seed: Any, step: Any, tables: Any, which: Any, y: Any) -> None:
    blocks, parts = (y.size + 63) // 64, num_threads()
    for part in prange(parts):
        low, high = blocks * part // parts, blocks * (part + 1) // parts
        draw_blocks(weight, seed, step, tables, which, y, low, high)


def generator(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """The callable; the number of neurons decides between one thread and all."""
    return numba_kernel(poisson_input if outs.size < MIN_PARALLEL else poisson_input_parallel, outs)
