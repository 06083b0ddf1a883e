"""The operator `procedural_matmat`: checks, backends, derivatives."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks.products import Factor, procedural_product
from event_ops.rules.products import procedural_transpose


def procedural_matmat(
    weight: ArrayLike,
    seed: ArrayLike,
    B: ArrayLike,
    *,
    prob: float,
    shape: tuple[int, int],
    distribution: str = "constant",
    transpose: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`Y = A @ B`, or `Y = A.T @ B`, for a random matrix A that is generated at each use and never stored.

    A is the matrix of `procedural_matvec` with the same weight, seed, prob, shape and distribution, entry by
    entry; each of its rows is generated once for all columns of B. `vmap` over vectors becomes this.
    Differentiable in B and in weight, in whose parameters A is linear.

    Args:
        weight: the distribution's parameters: (), or a number, if constant; (2,), or a pair of numbers:
            (low, high) if uniform, (mean, standard deviation) if normal; float32 or float64.
        seed: 0-d or a Python int in [0, 2**32); any integer dtype, taken modulo 2**32; may be traced.
        B: (columns, n), or (rows, n) with transpose=True; dtype of weight.
        prob: in [0, 1], static; resolved to 2**-32.
        shape: (rows, columns) of A, static; not of the transpose.
        distribution: of the weights: "constant", "uniform" or "normal"; static.
        transpose: multiply with A.T.
        backend: run on this one or not at all; default: choose.

    Returns:
        Y: (rows, n), or (columns, n) with transpose=True; dtype of weight; the sums' order is open.

    Raises:
        TypeError: a dtype that is not taken, weight and B of different ones, or a traced prob.
        ValueError: a shape that does not fit, a probability outside of [0, 1], a negative or large Python
            int as seed, an unknown distribution.

    Source: gaps between entries as in Batagelj and Brandes, Physical Review E 71, 036113, 2005; Philox2x32-10
    of Salmon et al., SC 2011; normal weights by Box and Muller.
    """
    return procedural_product(
        kernel, weight, seed, Factor("B", B, rank=2), prob, shape, distribution, transpose, backend
    )


kernel = define_operator(
    "procedural_matmat", "sparse procedural float", family="procedural_products", linear=(0, 2)
)
kernel.def_transpose_rule(procedural_transpose(kernel))
