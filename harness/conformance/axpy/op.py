"""The operator `axpy`: checks, backends."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks.arrays import FLOATS, as_array, check_dtype, check_rank, check_same_dtype, check_shape


def axpy(a: ArrayLike, x: ArrayLike, y: ArrayLike, *, backend: str | None = None) -> jax.Array:
    """`z = a * x + y` for vectors x and y and a number a. Differentiable in all three.

    Args:
        a: 0-d, dtype of x.
        x: (n,); float32 or float64.
        y: (n,), dtype of x.
        backend: run on this one or not at all; default: choose.

    Returns:
        z: (n,), dtype of x.

    Raises:
        TypeError: a dtype that is not taken, or different ones.
        ValueError: a shape that does not fit.
    """
    a, x, y = as_array(a), as_array(x), as_array(y)
    check_dtype("x", x, FLOATS)
    check_rank("x", x, 1, "a vector")
    check_same_dtype("a", a, "x", x)
    check_same_dtype("y", y, "x", x)
    check_shape("a", a, (), why="one factor for all")
    check_shape("y", y, x.shape, why="the shape of x")
    return kernel(a, x, y, outs=jax.ShapeDtypeStruct(x.shape, x.dtype), backend=backend)


kernel = define_operator("axpy", "elementwise")
