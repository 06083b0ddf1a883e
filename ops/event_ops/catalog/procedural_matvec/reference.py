"""`procedural_matvec` in pure JAX: its definition."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.bernoulli import generated_product


def build(
    *, prob: float, shape: tuple[int, int], distribution: str, transpose: bool, **_: Any
) -> Callable[..., jax.Array]:
    """Return `procedural_matvec`: y[i] = sum of weight (i, j) * v[j], or transposed."""
    matrix: dict[str, Any] = {
        "prob": prob,
        "shape": shape,
        "distribution": distribution,
        "transpose": transpose,
    }

    def matvec(weight: jax.Array, seed: jax.Array, v: jax.Array) -> jax.Array:
        return generated_product(operator.mul, weight, seed, v, jnp.zeros(shape[0], bool), **matrix)

    return matvec
