"""`procedural_matmat` in pure JAX: its definition."""

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
    """Return `procedural_matmat`: Y[i] = sum of weight (i, j) * B[j], or transposed."""
    matrix: dict[str, Any] = {
        "prob": prob,
        "shape": shape,
        "distribution": distribution,
        "transpose": transpose,
    }

    def matmat(weight: jax.Array, seed: jax.Array, B: jax.Array) -> jax.Array:
        return generated_product(operator.mul, weight, seed, B, jnp.zeros(shape[0], bool), **matrix)

    return matmat
