"""Products with a matrix of words in pure JAX: their definition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax

from event_ops.kernels.reference.entries import one_each
from event_ops.kernels.reference.packed_entries import by_parts, product, transposed_product


def compact_matvec(
    *, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any
) -> Callable[..., jax.Array]:
    """Return the product with a vector of numbers."""
    of_part = partial(transposed_product if transpose else product, dtype=outs.dtype)
    return by_parts(of_part, shape, transpose)


def compact_event_matvec(
    *, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any
) -> Callable[..., jax.Array]:
    """Return the product with events, in any encoding."""
    product = compact_matvec(outs=outs, shape=shape, transpose=transpose)
    return of_events(product, shape[not transpose], outs.dtype)


def of_events(product: Callable[..., jax.Array], size: int, dtype: Any) -> Callable[..., jax.Array]:
    """Return the product with events of `size` neurons, of one with numbers: codes are finite."""

    def call(entries: jax.Array, indptr: jax.Array, scale: jax.Array, events: jax.Array) -> jax.Array:
        return product(entries, indptr, scale, one_each(events, size, dtype).astype(dtype))

    return call
