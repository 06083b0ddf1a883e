"""`compact_event_matvec` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax

from event_ops.kernels.reference.entries import one_each
from event_ops.kernels.reference.packed_entries import by_parts, product, transposed_product


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return `compact_event_matvec` for one orientation."""
    of_part = partial(transposed_product if transpose else product, dtype=outs.dtype)
    multiply = by_parts(of_part, shape, transpose)

    def matvec(entries: jax.Array, indptr: jax.Array, scale: jax.Array, events: jax.Array) -> jax.Array:
        flat = one_each(events, shape[0 if transpose else 1], outs.dtype).astype(outs.dtype)
        return multiply(entries, indptr, scale, flat)

    return matvec
