"""Rows of a Bernoulli random matrix, generated where they are used: see kernels/reference/bernoulli.py."""

from typing import Any, Final, NamedTuple

import numpy as np

from event_ops.kernels.numba_cpu.jit import by_type, is_array, njit
from event_ops.kernels.numba_cpu.random_numbers import philox2x32
from event_ops.kernels.reference import bernoulli as reference

# Draws at a time: with more, rows leave more of them unused; with fewer, the generator vectorises worse.
BLOCK: Final = 32

_NORMAL_STREAM: Final = np.uint32(reference.NORMAL_STREAM)
_NO_ENTRY: Final = np.uint32(reference.NO_ENTRY)
_CUT_BITS: Final = np.uint32(reference.CUT_BITS)
_GAP_BITS: Final = np.uint32(reference.GAP_BITS)
_CUT: Final = np.uint32((1 << reference.CUT_BITS) - 1)


class Uniform(NamedTuple):
    """Weights low + width * u."""

    low: Any
    width: Any


class Normal(NamedTuple):
    """Weights mean + std * z."""

    mean: Any
    std: Any


@by_type
def parameters(weight: Any) -> Any:
    """Return what `weight_of` reads: a number for a 0-d array, a Uniform for a vector, else a Normal."""
    if not is_array(weight):  # inside prange Numba has turned a 0-d array into its value
        return lambda weight: weight
    if weight.ndim == 0:
        return lambda weight: weight[()]
    if weight.ndim == 1:
        return lambda weight: Uniform(weight[0], weight[1] - weight[0])
    return lambda weight: Normal(weight[0, 0], weight[1, 0])


@njit
def unit_uniform(word: Any, like: Any) -> Any:
    """Return a number in [0, 1), a multiple of 2**-24, in the type of `like`."""
    return type(like)(np.uint32(word) >> np.uint32(8)) * type(like)(2.0**-24)


@njit
def unit_normal(seed: Any, row: Any, column: Any, like: Any) -> Any:
    """Return the standard normal deviate of an entry."""
    first, second = philox2x32(column | _NORMAL_STREAM, row, seed)
    radius = np.sqrt(type(like)(-2) * np.log(type(like)(1) - unit_uniform(first, like)))
    return radius * np.cos(type(like)(2 * np.pi) * unit_uniform(second, like))


@by_type
def weight_of(parameters: Any, seed: Any, row: Any, column: Any, word: Any) -> Any:
    """Return the weight of one entry."""
    kind = getattr(parameters, "instance_class", type(parameters))
    if kind is Uniform:
        return lambda parameters, seed, row, column, word: (
            parameters.low + parameters.width * unit_uniform(word, parameters.low)
        )
    if kind is Normal:
        return lambda parameters, seed, row, column, word: (
            parameters.mean + parameters.std * unit_normal(seed, row, column, parameters.mean)
        )
    return lambda parameters, seed, row, column, word: parameters


@njit
def next_entries(block: Any, table: Any, seed: Any, row: Any, draw: Any, column: Any, columns: Any) -> Any:
    """Generate a row's next BLOCK draws: columns of entries in block[0], their weight words in block[1].

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
