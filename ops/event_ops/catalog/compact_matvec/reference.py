"""`compact_matvec` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.parts.reference.words import product, transposed_product


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return `compact_matvec` for one orientation."""

    def matvec(entries: jax.Array, indptr: jax.Array, scale: jax.Array, v: jax.Array) -> jax.Array:
        return (transposed_product if transpose else product)(entries, indptr, scale, v, shape, outs.dtype)

    return matvec
