"""`procedural_event_matmat` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.bernoulli import generated_product
from event_ops.kernels.reference.entries import event_terms


def build(
    *, prob: float, shape: tuple[int, int], distribution: str, transpose: bool, **_: Any
) -> Callable[..., jax.Array]:
    """Return `procedural_event_matmat`: Y[i] = sum of weight (i, j) * events[j], or transposed."""
    matrix: dict[str, Any] = {
        "prob": prob,
        "shape": shape,
        "distribution": distribution,
        "transpose": transpose,
    }

    def event_matmat(weight: jax.Array, seed: jax.Array, events: jax.Array) -> jax.Array:
        silent = ~events.astype(bool).any(axis=1) if transpose else jnp.zeros(shape[0], bool)
        return generated_product(event_terms, weight, seed, events, silent, **matrix)

    return event_matmat
