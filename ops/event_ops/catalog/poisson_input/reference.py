"""`poisson_input` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.alias import outcome
from event_ops.philox import philox2x32
from event_ops.poisson import BLOCK, HALF, NUMBER_BITS


def poisson_input(
    weight: jax.Array,
    seed: jax.Array,
    step: jax.Array,
    tables: jax.Array,
    which: jax.Array,
    initial: jax.Array,
) -> jax.Array:
    """Each neuron's word, then the number that it chooses."""
    blocks = -(-which.shape[0] // BLOCK)
    words = philox2x32(jnp.arange(blocks * HALF, dtype="uint32"), jnp.asarray(step), jnp.asarray(seed))
    words = jnp.stack([word.reshape(blocks, HALF) for word in words], axis=1).reshape(-1)
    first = which.astype("uint32") << NUMBER_BITS
    numbers = outcome(jnp.asarray(tables), words[: which.shape[0]], NUMBER_BITS, first)
    return initial + weight * numbers.astype(weight.dtype)


def generator(**_: Any) -> Callable[..., jax.Array]:
    """The function of arrays."""
    return poisson_input
