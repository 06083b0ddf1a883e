"""Poisson numbers from words of a counter-based generator: the same on every backend and platform.

Eight neurons share a counter: neuron i draws the byte i % 8 of the 64 bits that `philox2x32(i // 8, step,
seed)` makes. Of the 256 bytes, floor(256 p) choose a number of probability p, in the order of the numbers.
The last few, 4 for a mean of 1.3, leave it open: they stand for what all numbers lack of their probabilities.
Then a word of 32 bits decides, by an alias table of that. Two neurons share the counter of words, which are
of another stream. Where drawing takes time, a word is drawn only where it decides.

A mean that is not known when a call is traced has no table of its own. A sum of independent Poisson numbers
is a Poisson number of the sum of their means, so such a mean is split: into its whole part, the next two
digits to the base 64, and a rest below 2**-12. The first three have alias tables, the same for all means; the
rest needs two thresholds. Splitting rounds nothing but the last place of the rest, and all else is integers:
these numbers are as close to the distribution as those of known means are, to about 2**-32. Part p draws a
word of stream p.
"""

import functools
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from itertools import accumulate, pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import is_known
from event_ops.checks.contracts import MAX_MEAN, is_poisson_mean
from event_ops.kernels.reference.random_numbers import alias_table, outcome, philox2x32

# 256 outcomes: enough for any mean up to MAX_MEAN, above which 254 could be exceeded.
NUMBER_BITS = 8
OPEN = 255  # what a byte chooses that leaves the number open
MAX_MEANS = 1 << 16  # whose tables take 128 MiB

# A table begins with an entry for each byte, and the alias table is behind them.
TABLE_BITS = 9
LIMIT_SHIFT = 8

# Neurons that share a counter, for bytes and for words; stream s has the counters from s << STREAM_BIT on.
SHARE_OF_BYTES = 8
SHARE_OF_WORDS = 2
STREAM_BIT = 30


def probabilities(mean: float) -> list[Decimal]:
    """Return the probabilities of 0, 1, ..., 254, in decimals, so that no platform's rounding shows."""
    with localcontext(prec=50):
        terms = [(-Decimal(mean)).exp()]
        for k in range(1, OPEN):
            terms.append(terms[-1] * Decimal(mean) / k)
    return terms


def word_counts(parts: Sequence[Decimal]) -> list[int]:
    """Return how many of the 2**32 words choose each of 0, 1, ..., 255, in proportion to 255 parts.

    Differences of rounded thresholds: no word chooses a number whose tail is below 2**-33.
    """
    with localcontext(prec=50):
        sums = list(accumulate(parts))
        thresholds = [0, *(int(x / sums[-1] * (1 << 32) + Decimal("0.5")) for x in sums), 1 << 32]
    return [high - low for low, high in pairwise(thresholds)]


@functools.lru_cache(1024)
def poisson_table(mean: float) -> np.ndarray:
    """(512,), uint32: an entry for each byte, and the alias table for bytes that decide nothing.

    Entry k has the number that byte k chooses, or `OPEN`, and, from bit `LIMIT_SHIFT` on, how many bytes
    choose a number up to k.
    """
    with localcontext(prec=50):
        expected = [256 * p for p in probabilities(mean)]
        whole = [min(int(x), 255) for x in expected]  # at least one byte is open, even for a mean of 0
        rest = alias_table(word_counts([x - y for x, y in zip(expected, whole, strict=True)]))
    limits = np.cumsum([*whole, 0])
    numbers = np.minimum(np.searchsorted(limits, np.arange(256), side="right"), OPEN)
    table = np.concatenate([numbers | limits << LIMIT_SHIFT, rest]).astype(np.uint32)
    table.setflags(write=False)  # callers keep it in a cache
    return table


def poisson_tables(mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the tables of the different means, joined, and the number of the table of each of `mean`."""
    distinct, which = np.unique(mean.astype(np.float64), return_inverse=True)
    if distinct.size > MAX_MEANS:
        raise ValueError(
            f"mean has {distinct.size} different values; expected at most {MAX_MEANS}, of which each takes "
            "a table of 2 KiB; round them, or pass them as a JAX array, which takes no tables of its own"
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
            f"mean is or contains {wrong[0]}; expected numbers per step in [0, {MAX_MEAN:g}]: "
            "rate * dt / 1000 of a rate in Hz and a dt in ms; shorten the time step if that is more"
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


def bits_of(
    n: int, seed: jax.Array, step: jax.Array, first: jax.Array, stream: int, share: int = SHARE_OF_WORDS
) -> jax.Array:
    """(n,), uint32: the bits of n neurons from `first` on, of counters that `share` neurons share."""
    width, first = 64 // share, jnp.asarray(first)
    counters = jnp.arange(-(-n // share) + 1, dtype="uint32") + first // share
    words = philox2x32(counters + jnp.uint32(stream << STREAM_BIT), jnp.asarray(step), jnp.asarray(seed))
    mask = jnp.uint32((1 << width) - 1)
    shifted = [word >> shift & mask for word in words for shift in range(0, 32, width)]
    return jax.lax.dynamic_slice_in_dim(jnp.stack(shifted, axis=1).reshape(-1), first % share, n)


def table_numbers(which: jax.Array, bits: Callable[..., jax.Array], tables: jax.Array) -> jax.Array:
    """(n,), uint32: a number of each neuron's table; `bits` draws the bits of a stream."""
    table = which.astype("uint32") << TABLE_BITS
    number = tables[table + bits(0, SHARE_OF_BYTES)] & jnp.uint32(OPEN)
    of_word = outcome(tables, bits(1), NUMBER_BITS, table + (1 << NUMBER_BITS))
    return jnp.where(number == OPEN, of_word, number)


PARTS = 3  # that have tables: the whole, and two digits
BASE = 64
REST = 1 << 20  # 2**-12 in units of 2**-32
_WHOLE = int(MAX_MEAN) + 1
FIRST_TABLES = (0, _WHOLE, _WHOLE + BASE)


@functools.cache
def digit_tables() -> np.ndarray:
    """Return alias tables of 0, 1, ..., 100, of 0 / 64, ..., 63 / 64, and of 0 / 64**2, ..., 63 / 64**2."""
    means = [float(whole) for whole in range(_WHOLE)]
    means += [digit / BASE**part for part in range(1, PARTS) for digit in range(BASE)]
    tables = np.concatenate([alias_table(word_counts(probabilities(mean))) for mean in means])
    tables.setflags(write=False)
    return tables


def rest_number(rest: Any, word: Any) -> Any:
    """Return the number that a word chooses for a rest in units of 2**-32; all uint32.

    Of all words rest**2 / 2**33 choose 2, at most 128; 3 would be the choice of a hundredth of one.
    """
    twice = (rest >> 5) * (rest >> 5) >> 23
    return (word < rest - twice).astype(np.uint32) + (word < twice).astype(np.uint32)


def digit_numbers(mean: jax.Array, bits: Callable[[int], jax.Array], tables: jax.Array) -> jax.Array:
    """(n,), uint32: a Poisson number of each mean, 0 for a mean out of range; `bits` draws words."""
    left, numbers = jnp.where(is_poisson_mean(mean), mean, 0), jnp.uint32(0)
    for part, first in enumerate(FIRST_TABLES):
        left = left * BASE if part else left
        digit = jnp.floor(left)
        left = left - digit
        table = (digit.astype(jnp.uint32) + jnp.uint32(first)) << NUMBER_BITS
        numbers += outcome(tables, bits(part), NUMBER_BITS, table)
    scaled = left * REST
    rest = jnp.floor(scaled)
    rest = rest.astype(jnp.uint32) + (scaled - rest >= 0.5).astype(jnp.uint32)
    return numbers + rest_number(rest, bits(PARTS))
