"""Operands of `A @ x` and `x @ A`: what they may be, in which dtype they meet, and how axes before the last
two are folded away."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import as_array
from event_ops.sparse.arithmetic import is_sparse, refuse
from event_ops.sparse.events import Events


def operand(x: Any, shape: tuple[int, int], *, left: bool) -> Any:
    """Return x, which `check_factor` passes, as an array, or as the events that it is."""
    check_factor(x, shape, left=left)
    return x if isinstance(x, Events) else as_array(x)


def check_factor(x: Any, shape: tuple[int, int], *, left: bool) -> None:
    """Raise TypeError for a sparse x, ValueError unless A @ x exists for A of `shape`; on the left, x @ A."""
    if is_sparse(x):
        refuse("A product of two sparse matrices", "A.to_scipy() @ B.to_scipy(), or A @ B.todense()")
    if not isinstance(x, Events):
        _check_sizes(np.shape(x), shape, left)
    elif x.encoding == "flags":
        _check_sizes(x.values.shape, shape, left)


def _check_sizes(given: tuple[int, ...], shape: tuple[int, int], left: bool) -> None:
    size, other = shape if left else shape[::-1]
    axis = -1 if left or len(given) == 1 else -2
    if given and given[axis] == size:
        return
    product, per = ("x @ A", "row") if left else ("A @ x", "column")
    expected = f"({size},) or (..., n, {size})" if left else f"({size},) or (..., {size}, n)"
    hint = "; a product with a number is A * x" if not given else ""
    if given and given[axis] == other:
        hint = f"; it fits {product.replace('A', 'A.T')}"
    raise ValueError(
        f"x has shape {given}; expected {expected}, one element per {per} of A, for {product} with A of "
        f"shape {shape}{hint}"
    )


def promoted(data: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return weights and an operand in the dtype that JAX promotes both to, in the mode that is set."""
    if data.dtype == x.dtype:
        return data, x
    try:
        dtype = jnp.result_type(data, x)
    except ValueError as error:
        if x.dtype == bool:
            error.add_note("A @ Events(x) takes bools as they are: the product over those that are True.")
        raise
    return data.astype(dtype), x.astype(dtype)


def turned(x: Any) -> Any:
    """Return x with its last two axes swapped; a vector as it is."""
    if isinstance(x, Events):
        return x.T
    return x if x.ndim == 1 else x.mT


def over_matrices(product: Callable[[jax.Array], jax.Array], x: jax.Array) -> jax.Array:
    """Return the product with each matrix in the last two axes of x, as jnp.matmul does, by one product."""
    if x.ndim <= 2:
        return product(x)
    columns = jnp.moveaxis(x, -2, 0)
    Y = product(columns.reshape(columns.shape[0], math.prod(columns.shape[1:])))
    return jnp.moveaxis(Y.reshape(Y.shape[0], *columns.shape[1:]), 0, -2)
