"""`poisson_input` in pure JAX: its definition."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.contracts import is_poisson_mean
from event_ops.kernels.reference.poisson import bits_of, digit_numbers, table_numbers


def poisson_input(
    weight: jax.Array,
    seed: jax.Array,
    step: jax.Array,
    first: jax.Array,
    tables: jax.Array,
    which: jax.Array,
    initial: jax.Array,
) -> jax.Array:
    """Draw each neuron's number; `which` names its table, or is its mean if floating."""
    tables, which = jnp.asarray(tables), jnp.asarray(which)
    bits = partial(bits_of, initial.shape[0], seed, step, first)
    if jnp.issubdtype(which.dtype, jnp.floating):
        numbers = digit_numbers(which, bits, tables).astype(weight.dtype)
        return jnp.where(is_poisson_mean(which), initial + weight * numbers, jnp.nan)
    return initial + weight * table_numbers(which, bits, tables).astype(weight.dtype)


def build(**_: Any) -> Callable[..., jax.Array]:
    """Return `poisson_input`."""
    return poisson_input
