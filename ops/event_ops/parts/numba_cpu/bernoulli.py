"""Rows of a Bernoulli random matrix, generated where they are used: see parts/reference/bernoulli.py."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from event_ops.parts.numba_cpu.entry_weights import weight_of
from event_ops.parts.numba_cpu.flags import REORDER
from event_ops.parts.numba_cpu.jit import njit
from event_ops.parts.numba_cpu.philox import philox2x32
from event_ops.parts.reference import bernoulli

# Draws at a time: of more, a row leaves more unused; of fewer, the generator does not vectorise as well.
BLOCK: Final = 32

_NO_ENTRY: Final = np.uint32(bernoulli.NO_ENTRY)
_CUT_BITS: Final = np.uint32(bernoulli.CUT_BITS)
_GAP_BITS: Final = np.uint32(bernoulli.GAP_BITS)
_CUT: Final = np.uint32((1 << bernoulli.CUT_BITS) - 1)


@njit
def next_entries(block: Any, table: Any, seed: Any, row: Any, draw: Any, column: Any, columns: Any) -> Any:
    """The entries of a row's next BLOCK draws: their columns in block[0], their weight words in block[1].

    Returns how many they are, and the column after which the draws that follow go on.
    """
    chosen, words = block[0], block[1]
    for k in range(BLOCK):
        chosen[k], words[k] = philox2x32(np.uint64(draw) + np.uint64(k), row, seed)
    count = np.uintp(0)
    for k in range(np.uintp(BLOCK)):
        slot = chosen[k] >> _CUT_BITS
        entry = table[slot]
        gap = slot if chosen[k] & _CUT < entry >> _GAP_BITS else entry & _NO_ENTRY
        column = np.uint32(column + gap)
        if column >= columns:
            break
        if gap != _NO_ENTRY:
            chosen[count], words[count] = column, words[k]
            column = np.uint32(column + np.uint32(1))
            count += np.uintp(1)
    return count, column


@njit(fastmath=REORDER)
def scatter_row(weights: Any, seed: Any, table: Any, row: Any, value: Any, y: Any, block: Any) -> None:
    """y[j] += weight of (row, j) * value over the entries of a row."""
    columns, column, draw = np.uint32(y.size), np.uint32(0), np.uint32(0)
    while column < columns:
        count, column = next_entries(block, table, seed, row, draw, column, columns)
        draw = np.uint32(draw + np.uint32(BLOCK))
        for k in range(count):
            j = block[0, k]
            y[j] += weight_of(weights, seed, row, j, block[1, k]) * value


@njit
def new_block() -> Any:
    """Space for `next_entries`."""
    return np.empty((2, BLOCK), np.uint32)
