"""Poisson numbers from words of a counter-based generator: the same on every backend.

Neurons are in blocks of 64. Neuron i draws the first word (i // 32 even) or the second one (odd) of
`philox2x32(i // 64 * 32 + i % 32, step, seed)`, and an alias table of its mean makes the number of it.
"""

from __future__ import annotations

import functools
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from event_ops.alias import alias_table

# A table of 256 outcomes, 1 KiB: enough for any mean up to MAX_MEAN, above which 255 could be exceeded.
NUMBER_BITS = 8
MAX_MEAN = 100.0
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


def poisson_tables(mean: Any) -> tuple[jnp.ndarray, jnp.ndarray]:
    """The tables of the different means, one after the other, and (n,) which of them is each neuron's."""
    values = checked_mean(mean)
    known, which = np.unique(values, return_inverse=True)
    if known.size > MAX_MEANS:
        raise ValueError(
            f"mean has {known.size} different values; expected at most {MAX_MEANS}, of which each takes "
            "a table of 1 KiB; round them"
        )
    tables = [poisson_table(float(value)) for value in known] or [poisson_table(0.0)]
    return jnp.asarray(np.concatenate(tables)), jnp.asarray(which.reshape(-1).astype(np.int32))


def checked_mean(mean: Any) -> np.ndarray:
    """`mean` as (n,) float64, or an error that says what is wrong with it."""
    if isinstance(mean, Tracer):
        raise TypeError(
            "mean is traced; expected numbers known when the call is traced, since the tables that they "
            "become are constants of the compiled code; scale weight to change the drive"
        )
    values = np.asarray(mean)
    if values.dtype.kind not in "fiu":
        raise TypeError(f"mean has dtype {values.dtype}; expected numbers")
    if values.ndim != 1:
        raise ValueError(f"mean has shape {values.shape}; expected (n,): one per neuron; use numpy.full")
    wrong = values[~((values >= 0) & (values <= MAX_MEAN))]
    if wrong.size:
        raise ValueError(
            f"mean is or contains {wrong[0]}; expected numbers per step in [0, {MAX_MEAN:g}]; "
            "shorten the time step"
        )
    return values.astype(np.float64)
