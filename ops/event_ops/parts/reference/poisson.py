"""Poisson numbers from words of a counter-based generator: the same on every backend.

Neurons are in blocks of 64. Neuron i draws the first word (i // 32 even) or the second one (odd) of
`philox2x32(i // 64 * 32 + i % 32, step, seed)`, and an alias table of its mean makes the number of it.
Means that are not known when a call is traced have no table of their own: see `poisson_digits`.
"""

from __future__ import annotations

import functools
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.casts import is_known
from event_ops.checks.contracts import MAX_MEAN
from event_ops.parts.reference.alias import alias_table
from event_ops.parts.reference.philox import philox2x32

# A table of 256 outcomes, 1 KiB: enough for any mean up to MAX_MEAN, above which 255 could be exceeded.
NUMBER_BITS = 8
MAX_MEANS = 1 << 16

BLOCK = 64
HALF = BLOCK // 2


def poisson_counts(mean: float) -> list[int]:
    """How many of the 2**32 words choose each of 0, 1, ..., 255.

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


def poisson_tables(mean: np.ndarray) -> tuple[jnp.ndarray, jnp.ndarray]:
    """The tables of the different means, one after the other, and which of them is whose: shape of `mean`."""
    known, which = np.unique(mean.astype(np.float64), return_inverse=True)
    if known.size > MAX_MEANS:
        raise ValueError(
            f"mean has {known.size} different values; expected at most {MAX_MEANS}, of which each takes "
            "a table of 1 KiB; round them, or pass them as a JAX array, which takes no tables of its own"
        )
    tables = [poisson_table(float(value)) for value in known] or [poisson_table(0.0)]
    return jnp.asarray(np.concatenate(tables)), jnp.asarray(which.reshape(mean.shape).astype(np.int32))


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
    """(n,), which at least one of the three arguments has."""
    for x in (mean, weight, initial):
        if np.ndim(x) == 1:
            return (np.shape(x)[0],)
    raise ValueError(
        "mean, weight and initial are single numbers; expected one of them as (n,), which says how many "
        "neurons there are: initial=jnp.zeros(n)"
    )


def words_of(n: int, seed: jax.Array, step: jax.Array, first: int = 0) -> jax.Array:
    """The word of each of n neurons; `first` is the counter of neuron 0."""
    blocks = -(-n // BLOCK)
    counters = jnp.arange(blocks * HALF, dtype="uint32") + jnp.uint32(first)
    words = philox2x32(counters, jnp.asarray(step), jnp.asarray(seed))
    return jnp.stack([word.reshape(blocks, HALF) for word in words], axis=1).reshape(-1)[:n]
