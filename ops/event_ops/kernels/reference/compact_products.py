"""Products with a matrix of words in pure JAX: their definition."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax

from event_ops.kernels.reference.entries import one_each
from event_ops.kernels.reference.packed_entries import by_parts, product, transposed_product


def products_of(gather: Any, scatter: Any, deliver: Any = None) -> tuple[Any, Any]:
    """Return the builders of `compact_matvec` and `compact_event_matvec` for a backend.

    `gather(outs, shape)` and `scatter(outs, shape)` return `f(words, indptr, scale, x)` for scale * (C @ x)
    and C.T @ (scale * x), where C is the matrix of codes and x are numbers; `deliver(outs, shape)` gives the
    second for events in any encoding. Without it events are made numbers first, since codes are finite.
    """

    def matvec(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., jax.Array]:
        return (scatter if transpose else gather)(outs, shape)

    def event_matvec(
        *, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any
    ) -> Callable[..., jax.Array]:
        if transpose and deliver is not None:
            return deliver(outs, shape)
        product = matvec(outs=outs, shape=shape, transpose=transpose)

        def call(entries: jax.Array, indptr: jax.Array, scale: jax.Array, events: jax.Array) -> jax.Array:
            each = one_each(events, shape[not transpose], outs.dtype)
            return product(entries, indptr, scale, each.astype(outs.dtype))

        return call

    return matvec, event_matvec


def _in_parts(of_part: Any, transpose: bool, outs: Any, shape: tuple[int, int]) -> Callable[..., jax.Array]:
    return by_parts(partial(of_part, dtype=outs.dtype), shape, transpose)


compact_matvec, compact_event_matvec = products_of(
    partial(_in_parts, product, False), partial(_in_parts, transposed_product, True)
)
