"""`poisson_input` in pure JAX: its definition."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.contracts import is_poisson_mean
from event_ops.kernels.reference.poisson import NUMBER_BITS, digit_numbers, words_of
from event_ops.kernels.reference.random_numbers import outcome


def poisson_input(
    weight: jax.Array,
    seed: jax.Array,
    step: jax.Array,
    first: jax.Array,
    tables: jax.Array,
    which: jax.Array,
    initial: jax.Array,
) -> jax.Array:
    """Draw each neuron's word and look up its number; `which` names its table, or is its mean if floating."""
    tables, which = jnp.asarray(tables), jnp.asarray(which)
    words = partial(words_of, initial.shape[0], seed, step, first)
    if jnp.issubdtype(which.dtype, jnp.floating):
        numbers = digit_numbers(which, words, tables).astype(weight.dtype)
        return jnp.where(is_poisson_mean(which), initial + weight * numbers, jnp.nan)
    numbers = outcome(tables, words(0), NUMBER_BITS, which.astype("uint32") << NUMBER_BITS)
    return initial + weight * numbers.astype(weight.dtype)


def build(**_: Any) -> Callable[..., jax.Array]:
    """Return `poisson_input`."""
    return poisson_input
