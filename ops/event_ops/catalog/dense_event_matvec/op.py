"""The operator `dense_event_matvec`: checks, backends, derivatives."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks.products import Factor, dense_product
from event_ops.rules.products import dense_transpose, fold_into


def dense_event_matvec(
    weights: ArrayLike,
    events: ArrayLike,
    *,
    transpose: bool = False,
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y = W @ events`, or `y = W.T @ events`, over active events: bools that are True, floats not zero.

    Only the weights that active events meet are looked at, as long as few are active. An active bool event
    counts as 1, a float one as its value. An inactive event contributes exactly 0, even where its weight is
    NaN or infinite. With transpose=True (rows are presynaptic neurons) the weights of an event lie side by
    side, which is the faster layout. Differentiable in weights and in float events, at inactive ones too;
    what a cotangent of NaN does is as in `csr_event_matvec`.

    Args:
        weights: (rows, columns); float32, float64, float16 or bfloat16.
        events: (columns,), or (rows,) with transpose=True; bool, or the dtype of y.
        transpose: multiply with W.T.
        deterministic: the same bits at every call, also on a GPU: all weights are looked at there.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (rows,), or (columns,) with transpose=True; dtype of weights, or float32 if that has 16 bits;
            the sum's order is open unless deterministic.

    Raises:
        TypeError: a dtype that is not taken, or float events of another dtype than y.
        ValueError: weights is not 2-d, or events does not fit it.
    """
    return dense_product(
        kernel, weights, Factor("events", events, are_events=True), transpose, deterministic, backend
    )


kernel = define_operator(
    "dense_event_matvec", "dense event-driven", family="dense_products", linear=(0, 1), has_atomics=True
)
kernel.def_batching_rule(fold_into(kernel, "dense_event_matmat", transposed=True))
kernel.def_transpose_rule(dense_transpose(kernel))
