"""Poisson numbers from words of a counter-based generator: the same on every backend and platform.

Four neurons share a counter: neuron i draws the 16 bits number i % 4 of the 64 that `philox2x32(i // 4, step,
seed)` makes, and, of another stream, 16 more. Together they are a word, of which the alias table of the mean
makes a number. For all but one neuron in 256 the first 16 bits decide what it is, and where drawing takes
time, the others are not drawn.

A mean that is not known when a call is traced has no table of its own. A sum of independent Poisson numbers
is a Poisson number of the sum of their means, so such a mean is split: into its whole part, the next two
digits to the base 64, and a rest below 2**-12. The first three have tables, the same for all means; the rest
needs two thresholds. Splitting rounds nothing but the last place of the rest, and all else is integers:
these numbers are as close to the distribution as those of tables are, to about 2**-32. Each part draws a word
as above, from two streams of its own; the whole part has those of tables, so that a mean that is a whole
number finds the word of its table.
"""

import functools
from collections.abc import Callable
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import is_known
from event_ops.checks.contracts import MAX_MEAN, is_poisson_mean
from event_ops.kernels.reference.random_numbers import alias_table, outcome, philox2x32

# A table of 256 outcomes, 1 KiB: enough for any mean up to MAX_MEAN, above which 255 could be exceeded.
NUMBER_BITS = 8
MAX_MEANS = 1 << 16

# Neurons that share a counter, and bits of each; stream s has the counters from s << STREAM_BIT on.
SHARE = 4
BITS = 64 // SHARE
STREAM_BIT = 29


def poisson_counts(mean: float) -> list[int]:
    """Return how many of the 2**32 words choose each of 0, 1, ..., 255.

    Differences of thresholds T[k] = round(P(number <= k) * 2**32), in decimals: no platform's rounding
    shows in them, and no word chooses a number whose tail is below 2**-33.
    """
    thresholds = [0]
    with localcontext(prec=50):
        term, total = (-Decimal(mean)).exp(), Decimal(0)
        for k in range((1 << NUMBER_BITS) - 1):
            total += term
            thresholds.append(int(total * (1 << 32) + Decimal("0.5")))
            term = term * Decimal(mean) / (k + 1)
    thresholds.append(1 << 32)
    return [high - low for low, high in pairwise(thresholds)]


@functools.lru_cache(1024)
def poisson_table(mean: float) -> np.ndarray:
    """(256,), uint32: the alias table of `poisson_counts`."""
    return alias_table(poisson_counts(mean))


def poisson_tables(mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the tables of the different means, one after the other, and which table each of `mean` has."""
    distinct, which = np.unique(mean.astype(np.float64), return_inverse=True)
    if distinct.size > MAX_MEANS:
        raise ValueError(
            f"mean has {distinct.size} different values; expected at most {MAX_MEANS}, of which each takes "
            "a table of 1 KiB; round them, or pass them as a JAX array, which takes no tables of its own"
        )
    tables = [poisson_table(float(value)) for value in distinct] or [poisson_table(0.0)]
    return np.concatenate(tables), which.reshape(mean.shape).astype(np.uint16)


def check_mean(mean: Any) -> None:
    """Raise unless `mean` is 0-d or (n,) and of real numbers, in range where they are known."""
    if mean.dtype.kind not in "fiu" and not jnp.issubdtype(mean.dtype, jnp.floating):
        raise TypeError(f"mean has dtype {mean.dtype}; expected numbers")
    if mean.ndim > 1:
        raise ValueError(f"mean has shape {mean.shape}; expected () or (n,): one for all, or one per neuron")
    if not is_known(mean):
        return
    values = np.asarray(mean)
    wrong = values[~((values >= 0) & (values <= MAX_MEAN))]
    if wrong.size:
        raise ValueError(
            f"mean is or contains {wrong[0]}; expected numbers per step in [0, {MAX_MEAN:g}]; "
            "shorten the time step"
        )


def neurons(mean: Any, weight: Any, initial: Any) -> tuple[int]:
    """Return (n,), the shape that at least one of the three arguments has."""
    for x in (mean, weight, initial):
        if np.ndim(x) == 1:
            return (np.shape(x)[0],)
    raise ValueError(
        "mean, weight and initial are single numbers; expected one of them as (n,), which says how many "
        "neurons there are: initial=jnp.zeros(n)"
    )


def words_of(n: int, seed: jax.Array, step: jax.Array, first: jax.Array, part: int) -> jax.Array:
    """Return the word of each of n neurons from `first` on for a part of its mean.

    It is of the streams 2 part and 2 part + 1.
    """
    high, low = (_bits_of(n, seed, step, jnp.asarray(first), 2 * part + stream) for stream in (0, 1))
    return high << BITS | low


def _bits_of(n: int, seed: jax.Array, step: jax.Array, first: jax.Array, stream: int) -> jax.Array:
    """(n,), uint32: 16 bits of a stream for each neuron."""
    counters = jnp.arange(-(-n // SHARE) + 1, dtype="uint32") + first // SHARE
    words = philox2x32(counters + jnp.uint32(stream << STREAM_BIT), jnp.asarray(step), jnp.asarray(seed))
    halves = [word >> shift & jnp.uint32((1 << BITS) - 1) for word in words for shift in (0, BITS)]
    return jax.lax.dynamic_slice_in_dim(jnp.stack(halves, axis=1).reshape(-1), first % SHARE, n)


PARTS = 3  # that have tables: the whole, and two digits
BASE = 64
REST = 1 << 20  # 2**-12 in units of 2**-32
_WHOLE = int(MAX_MEAN) + 1
FIRST_TABLES = (0, _WHOLE, _WHOLE + BASE)


@functools.cache
def digit_tables() -> np.ndarray:
    """Return the tables of 0, 1, ..., 100, of 0 / 64, ..., 63 / 64, and of 0 / 64**2, ..., 63 / 64**2."""
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


def digit_numbers(mean: jax.Array, words: Callable[[int], jax.Array], tables: jax.Array) -> jax.Array:
    """(n,), uint32: a Poisson number of each mean, 0 for those out of range; `words` has those of a part."""
    left, numbers = jnp.where(is_poisson_mean(mean), mean, 0), jnp.uint32(0)
    for part, first in enumerate(FIRST_TABLES):
        left = left * BASE if part else left
        digit = jnp.floor(left)
        left = left - digit
        table = (digit.astype(jnp.uint32) + jnp.uint32(first)) << NUMBER_BITS
        numbers += outcome(tables, words(part), NUMBER_BITS, table)
    scaled = left * REST
    rest = jnp.floor(scaled)
    rest = rest.astype(jnp.uint32) + (scaled - rest >= 0.5).astype(jnp.uint32)
    return numbers + rest_number(rest, words(PARTS))
