"""Rows of a Bernoulli random matrix, generated where they are used: see parts/reference/bernoulli.py."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numba import types
from numba.extending import overload

from event_ops.parts.numba_cpu.jit import REORDER, njit
from event_ops.parts.numba_cpu.random_numbers import philox2x32
from event_ops.parts.reference import bernoulli
from event_ops.parts.reference.bernoulli import NO_ENTRY, NORMAL_STREAM, gap_table

_NORMAL_STREAM: Final = np.uint32(NORMAL_STREAM)


class Uniform(NamedTuple):
    """Weights low + width * u."""

    low: Any
    width: Any


class Normal(NamedTuple):
    """Weights mean + std * z."""

    mean: Any
    std: Any


def parameters(weight: Any) -> Any:
    """What `weight_of` reads: one value; of a vector a Uniform; of a (2, 1) matrix a Normal."""
    if np.ndim(weight) == 0:
        return weight[()]
    return (
        Uniform(weight[0], weight[1] - weight[0]) if weight.ndim == 1 else Normal(weight[0, 0], weight[1, 0])
    )


@overload(parameters, strict=False)
def _parameters(weight: Any) -> Any:
    if not isinstance(weight, types.Array):  # inside prange Numba has turned a 0-d array into its value
        return lambda weight: weight
    if weight.ndim == 0:
        return lambda weight: weight[()]
    if weight.ndim == 1:
        return lambda weight: Uniform(weight[0], weight[1] - weight[0])
    return lambda weight: Normal(weight[0, 0], weight[1, 0])


@njit
def unit_uniform(word: Any, like: Any) -> Any:
    """A number in [0, 1), a multiple of 2**-24, in the type of `like`."""
    return type(like)(np.uint32(word) >> np.uint32(8)) * type(like)(2.0**-24)


@njit
def unit_normal(seed: Any, row: Any, column: Any, like: Any) -> Any:
    """The standard normal deviate of an entry."""
    first, second = philox2x32(column | _NORMAL_STREAM, row, seed)
    radius = np.sqrt(type(like)(-2) * np.log(type(like)(1) - unit_uniform(first, like)))
    return radius * np.cos(type(like)(2 * np.pi) * unit_uniform(second, like))


def weight_of(parameters: Any, seed: Any, row: Any, column: Any, word: Any) -> Any:
    """The weight of one entry."""
    if isinstance(parameters, Uniform):
        return parameters.low + parameters.width * unit_uniform(word, parameters.low)
    if isinstance(parameters, Normal):
        return parameters.mean + parameters.std * unit_normal(seed, row, column, parameters.mean)
    return parameters


@overload(weight_of, strict=False)
def _weight_of(parameters: Any, seed: Any, row: Any, column: Any, word: Any) -> Any:
    kind = getattr(parameters, "instance_class", None)
    if kind is Uniform:

        def uniform(parameters: Any, seed: Any, row: Any, column: Any, word: Any) -> Any:
            return parameters.low + parameters.width * unit_uniform(word, parameters.low)

        return uniform
    if kind is Normal:

        def normal(parameters: Any, seed: Any, row: Any, column: Any, word: Any) -> Any:
            return parameters.mean + parameters.std * unit_normal(seed, row, column, parameters.mean)

        return normal
    return lambda parameters, seed, row, column, word: parameters


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


# A draw takes about three times as long as a stored entry, so that fewer are worth a parallel launch.
MIN_DRAWS_PARALLEL: Final = 1 << 13


def draws_per_row(prob: float, columns: int) -> int:
    """About how many draws generate a row."""
    return int(columns * prob + columns / NO_ENTRY) + 1


def tables(prob: float, columns: int) -> tuple[jax.Array, jax.Array]:
    """The table of gaps, and (1,) the draws of a row."""
    return jnp.asarray(gap_table(prob)), jnp.full(1, draws_per_row(prob, columns), "int32")


def typed(weight: jax.Array, distribution: str) -> jax.Array:
    """The parameters in a shape whose rank tells the distribution: what `parameters` looks at."""
    return weight.reshape(2, 1) if distribution == "normal" else weight
