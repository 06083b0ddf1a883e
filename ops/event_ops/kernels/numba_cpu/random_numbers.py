"""The functions of kernels/random_numbers.py in loops on the CPU, and rows of Bernoulli random matrices."""

from typing import Any, Final, NamedTuple

import numpy as np

from event_ops.kernels.numba_cpu.jit import by_type, is_array, njit
from event_ops.kernels.random_numbers import compiled
from event_ops.kernels.reference import bernoulli as reference

# Draws at a time: with more, rows leave more of them unused; with fewer, the generator vectorises worse.
BLOCK: Final = 32

_NO_ENTRY: Final = np.uint32(reference.NO_ENTRY)
_GAP_BITS: Final = np.uint32(reference.GAP_BITS)


functions = compiled(njit(inline="always"))
philox2x32 = functions.philox2x32
poisson_bits, poisson_word = functions.poisson_bits, functions.poisson_word
place_of, outcome, chosen = functions.place_of, functions.outcome, functions.chosen
unit_uniform, unit_normal, rest_number = functions.unit_uniform, functions.unit_normal, functions.rest_number


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
    """Return the parameters of `weight_of`: a number of a 0-d array, a Uniform of a vector, else a Normal."""
    if not is_array(weight):  # inside prange Numba has turned a 0-d array into its value
        return lambda weight: weight
    if weight.ndim == 0:
        return lambda weight: weight[()]
    if weight.ndim == 1:
        return lambda weight: Uniform(weight[0], weight[1] - weight[0])
    return lambda weight: Normal(weight[0, 0], weight[1, 0])


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
    entries, words = block[0], block[1]
    # By themselves draws vectorise; the columns after them, each of which needs the one before, cannot.
    for k in range(BLOCK):
        entries[k], words[k] = philox2x32(np.uint64(draw) + np.uint64(k), row, seed)
    count = np.uintp(0)
    for k in range(np.uintp(BLOCK)):
        gap = chosen(table, np.uint32(0), entries[k], _GAP_BITS)
        column = np.uint32(column + gap)
        if column >= columns:
            break
        if gap != _NO_ENTRY:
            entries[count], words[count] = column, words[k]
            column = np.uint32(column + np.uint32(1))
            count += np.uintp(1)
    return count, column
