"""Poisson numbers of means that are data: traced, batched, or of any number of different values.

A sum of independent Poisson numbers is a Poisson number, of the sum of their means. So a mean is taken apart:
its whole part, the next two digits to the base 64, and a rest below 2**-12. The first three have tables, the
same for all means, and the rest needs two thresholds. Taking apart rounds nothing but the last place of the
rest, and all else is integers: the numbers are the same on every backend and platform, and as close to the
distribution as those of tables are, to some 2**-32. Part p of neuron i draws its word as a table's number
does, with p * 2**30 added to the counter: that of part 0 is the word of the table of a mean that is whole.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.contracts import MAX_MEAN, is_poisson_mean
from event_ops.parts.reference.alias import outcome
from event_ops.parts.reference.poisson import NUMBER_BITS, poisson_table, words_of

PARTS = 3  # that have tables: the whole, and two digits
BASE = 64
REST = 1 << 20  # 2**-12 in units of 2**-32
PART_BIT = 30
_WHOLE = int(MAX_MEAN) + 1
FIRST_TABLES = (0, _WHOLE, _WHOLE + BASE)


@functools.cache
def digit_tables() -> np.ndarray:
    """The tables of 0, 1, ..., 100, of 0, ..., 63 divided by 64, and of these divided by 64 once more."""
    means = [float(whole) for whole in range(_WHOLE)]
    means += [digit / BASE**part for part in range(1, PARTS) for digit in range(BASE)]
    tables = np.concatenate([poisson_table(mean) for mean in means])
    tables.setflags(write=False)
    return tables


def rest_number(rest: Any, word: Any) -> Any:
    """Return the number that a word chooses for a rest in units of 2**-32; all uint32.

    Of all words rest**2 / 2**33 choose 2, at most 128; 3 would be the choice of a hundredth of one.
    """
    twice = (rest >> 5) * (rest >> 5) >> 23
    return (word < rest - twice).astype(np.uint32) + (word < twice).astype(np.uint32)


def digit_numbers(mean: jax.Array, n: int, seed: jax.Array, step: jax.Array, tables: jax.Array) -> jax.Array:
    """(n,), uint32: a Poisson number of each mean, 0 for those out of range."""
    left, numbers = jnp.where(is_poisson_mean(mean), mean, 0), jnp.zeros((n,), jnp.uint32)
    for part, first in enumerate(FIRST_TABLES):
        left = left * BASE if part else left
        digit = jnp.floor(left)
        left = left - digit
        table = (digit.astype(jnp.uint32) + jnp.uint32(first)) << NUMBER_BITS
        numbers += outcome(tables, words_of(n, seed, step, part << PART_BIT), NUMBER_BITS, table)
    scaled = left * REST
    rest = jnp.floor(scaled)
    rest = rest.astype(jnp.uint32) + (scaled - rest >= 0.5).astype(jnp.uint32)
    return numbers + rest_number(rest, words_of(n, seed, step, PARTS << PART_BIT))
