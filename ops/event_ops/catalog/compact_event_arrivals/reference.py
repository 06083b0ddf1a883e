"""`compact_event_arrivals` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.kernels.reference.arrivals import Part, arrivals
from event_ops.kernels.reference.packed_entries import transposed_product


def build(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., jax.Array]:
    """Return `compact_event_arrivals` for one shape."""

    def product(part: Part) -> jax.Array:
        return transposed_product(*part, outs.dtype)

    return arrivals(product, shape, outs.dtype)
