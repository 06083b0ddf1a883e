"""The operator `dense_event_matmat`: checks, backends, derivatives."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks.products import Factor, dense_product
from event_ops.rules.products import dense_transpose


def dense_event_matmat(
    weights: ArrayLike,
    events: ArrayLike,
    *,
    transpose: bool = False,
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`Y = W @ events`, or `Y = W.T @ events`, over active events: bools that are True, floats not zero.

    Each column of `events` is a vector of events as `dense_event_matvec` takes it; `vmap` over such vectors
    becomes this. An active bool event counts as 1, a float one as its value. An inactive event contributes
    exactly 0, even where its weight is NaN or infinite. With transpose=True (rows are presynaptic neurons)
    the weights of an event lie side by side, which is the faster layout. Differentiable in weights and in
    float events, at inactive ones too.

    Args:
        weights: (rows, columns); float32, float64, float16 or bfloat16.
        events: (columns, n), or (rows, n) with transpose=True; bool, or the dtype of Y.
        transpose: multiply with W.T.
        deterministic: the same bits at every call, also on a GPU: a sum is not split between blocks there.
        backend: run on this one or not at all; default: choose.

    Returns:
        Y: (rows, n), or (columns, n) with transpose=True; dtype of weights, or float32 if that has
            16 bits; the sums' order is open unless deterministic.

    Raises:
        TypeError: a dtype that is not taken, or float events of another dtype than Y.
        ValueError: weights or events is not 2-d, or events does not fit weights.
    """
    return dense_product(
        kernel, weights, Factor("events", events, rank=2, are_events=True), transpose, deterministic, backend
    )


kernel = define_operator(
    "dense_event_matmat", "dense event-driven", family="dense_products", linear=(0, 1), has_atomics=True
)
kernel.def_transpose_rule(dense_transpose(kernel))
