"""The operator `procedural_matvec`: checks, backends, derivatives."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks.products import Factor, procedural_product
from event_ops.rules.products import fold_into, procedural_transpose


def procedural_matvec(
    weight: ArrayLike,
    seed: ArrayLike,
    v: ArrayLike,
    *,
    prob: float,
    shape: tuple[int, int],
    distribution: str = "constant",
    transpose: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y = A @ v`, or `y = A.T @ v`, for a random matrix A that is generated at each use and never stored.

    Each entry of A is there with probability prob, independently. Which ones are is a function of seed, prob
    and shape alone, the same one on every backend, in both orientations and in every dtype; so are uniform
    weights, and normal ones up to rounding. `procedural_todense` and `procedural_tocsr` give A stored.
    Differentiable in v and in weight, in whose parameters A is linear.

    Args:
        weight: the distribution's parameters: (), or a number, if constant; (2,), or a pair of numbers:
            (low, high) if uniform, (mean, standard deviation) if normal; float32 or float64.
        seed: 0-d or a Python int in [0, 2**32); any integer dtype, taken modulo 2**32; may be traced.
        v: (columns,), or (rows,) with transpose=True; dtype of weight.
        prob: in [0, 1], static; resolved to 2**-32.
        shape: (rows, columns) of A, static; not of the transpose.
        distribution: of the weights: "constant", "uniform" or "normal"; static.
        transpose: multiply with A.T.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (rows,), or (columns,) with transpose=True; dtype of weight; the sum's order is open.

    Raises:
        TypeError: a dtype that is not taken, weight and v of different ones, or a traced prob.
        ValueError: a shape that does not fit, a probability outside of [0, 1], a negative or large Python
            int as seed, an unknown distribution.

    Source: gaps between entries as in Batagelj and Brandes, Physical Review E 71, 036113, 2005; Philox2x32-10
    of Salmon et al., SC 2011; normal weights by Box and Muller.
    """
    return procedural_product(
        kernel, weight, seed, Factor("v", v), prob, shape, distribution, transpose, backend
    )


kernel = define_operator(
    "procedural_matvec", "sparse procedural float", family="procedural_products", linear=(0, 2)
)
kernel.def_transpose_rule(procedural_transpose(kernel))
kernel.def_batching_rule(fold_into(kernel, "procedural_matmat", transposed=True))
