"""The operator `procedural_event_matvec`: checks, backends, derivatives."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks.products import Factor, procedural_product
from event_ops.rules.products import fold_into, procedural_transpose


def procedural_event_matvec(
    weight: ArrayLike,
    seed: ArrayLike,
    events: ArrayLike,
    *,
    prob: float,
    shape: tuple[int, int],
    distribution: str = "constant",
    transpose: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y = A @ events`, or `y = A.T @ events`, for a random matrix A that is generated, never stored.

    The matrix is the one of `procedural_matvec`: a function of seed, prob and shape alone. Active are bool
    events that are True, and float ones that are not zero; they count as 1, and as their value. An inactive
    event contributes exactly 0, even where weight is NaN or infinite. With transpose=True (rows are
    presynaptic neurons) only the rows of active events are generated, so the cost follows the number of
    spikes, after one pass over events and y; without it all rows are. Differentiable in weight and in float
    events, at inactive ones too. A cotangent that is NaN or infinite does not reach weight from an output at
    which nothing arrives.

    Args:
        weight: the distribution's parameters: (), or a number, if constant; (2,), or a pair of numbers:
            (low, high) if uniform, (mean, standard deviation) if normal; float32 or float64.
        seed: 0-d or a Python int in [0, 2**32); any integer dtype, taken modulo 2**32; may be traced.
        events: (columns,), or (rows,) with transpose=True; bool, or the dtype of weight.
        prob: in [0, 1], static; resolved to 2**-32.
        shape: (rows, columns) of A, static; not of the transpose.
        distribution: of the weights: "constant", "uniform" or "normal"; static.
        transpose: multiply with A.T.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (rows,), or (columns,) with transpose=True; dtype of weight; the sum's order is open.

    Raises:
        TypeError: a dtype that is not taken, float events of another dtype than weight, or a traced prob.
        ValueError: a shape that does not fit, a probability outside of [0, 1], a negative or large Python
            int as seed, an unknown distribution.

    Source: gaps between entries as in Batagelj and Brandes, Physical Review E 71, 036113, 2005; Philox2x32-10
    of Salmon et al., SC 2011; normal weights by Box and Muller.
    """
    factor = Factor("events", events, are_events=True)
    return procedural_product(kernel, weight, seed, factor, prob, shape, distribution, transpose, backend)


kernel = define_operator(
    "procedural_event_matvec", "sparse procedural event-driven", family="procedural_products", linear=(0, 2)
)
kernel.def_transpose_rule(procedural_transpose(kernel))
kernel.def_batching_rule(fold_into(kernel, "procedural_event_matmat", transposed=True))
