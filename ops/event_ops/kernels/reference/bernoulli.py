"""Bernoulli random matrices that are generated, not stored: gaps between the entries of each row.

Row i has its own stream of draws: draw n is the pair of words `philox2x32(n, i, seed)`. The first word
chooses, through the table of `gap_table`, how many columns are skipped before the next entry; the second is
the entry's random weight. All of it is integers, so that every backend generates the same matrix.
"""

import functools
from fractions import Fraction
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.kernels.reference.random_numbers import alias_table, philox2x32

# A table has 2**GAP_BITS slots of equal probability: 16 KiB, which stay in the first cache.
GAP_BITS = 12
CUT_BITS = 32 - GAP_BITS

# The last outcome skips so many columns without an entry: exact, since a Bernoulli row has no memory.
NO_ENTRY = (1 << GAP_BITS) - 1

# Counters of draws are below this number, those of normal deviates above it.
NORMAL_STREAM = 1 << 31

_FRACTION_BITS = 96  # 64 beyond those of a word, so that products keep its last bit right


def gap_counts(prob: float) -> list[int]:
    """Return how many of the 2**32 words choose each gap 0, 1, ..., and, last, NO_ENTRY.

    Differences of thresholds T[g] = floor((1 - (1 - prob)**(g + 1)) * 2**32), computed in integers: no
    platform's rounding shows in them.
    """
    one = 1 << _FRACTION_BITS
    miss = one - int(Fraction(prob) * one)
    rest, thresholds = one, [0]
    for _ in range(NO_ENTRY):
        rest = rest * miss >> _FRACTION_BITS
        thresholds.append((one - rest) >> (_FRACTION_BITS - 32))
    thresholds.append(1 << 32)
    return [high - low for low, high in pairwise(thresholds)]


@functools.lru_cache(64)
def gap_table(prob: float) -> np.ndarray:
    """(2**GAP_BITS,), uint32: the alias table of `gap_counts`."""
    return alias_table(gap_counts(prob))


def unit_uniform(word: jax.Array, dtype: Any) -> jax.Array:
    """Return a number in [0, 1), a multiple of 2**-24: exact in single precision."""
    return (word >> np.uint32(8)).astype(dtype) * np.asarray(2.0**-24, dtype)


def unit_normal(seed: Any, row: Any, column: Any, dtype: Any) -> jax.Array:
    """Return the standard normal deviate of an entry, by Box and Muller; backends agree up to rounding."""
    words = philox2x32(column | np.uint32(NORMAL_STREAM), row, seed)
    u, angle = (unit_uniform(word, dtype) for word in words)
    return jnp.sqrt(-2 * jnp.log(1 - u)) * jnp.cos(2 * np.pi * angle)


def weights_at(
    weight: jax.Array, distribution: str, seed: Any, row: Any, column: Any, word: Any
) -> jax.Array:
    """Return the weight of each entry, from the distribution's parameters."""
    if distribution == "constant":
        return weight
    if distribution == "uniform":
        return weight[0] + (weight[1] - weight[0]) * unit_uniform(word, weight.dtype)
    return weight[0] + weight[1] * unit_normal(seed, row, column, weight.dtype)
