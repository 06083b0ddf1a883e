"""`compact_event_arrivals` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.parts.reference.arrivals import arrivals
from event_ops.parts.reference.words import transposed_product


def build(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., jax.Array]:
    """Return `compact_event_arrivals` for one shape."""

    def product(*args: jax.Array, shape: tuple[int, int]) -> jax.Array:
        return transposed_product(*args, shape, outs.dtype)

    def compact_event_arrivals(*args: jax.Array) -> jax.Array:
        *given, initial = args
        return initial + arrivals(product, *given, shape, outs.dtype)

    return compact_event_arrivals
