"""Arithmetic with a CSR matrix that changes its weights and not its structure, and what NumPy makes of it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Never

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import as_array, is_known
from event_ops.parts.reference.entries import dense_at, rows_of

_OPERATORS = {
    np.matmul: operator.matmul,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.add: operator.add,
    np.subtract: operator.sub,
    np.negative: operator.neg,
    np.absolute: operator.abs,
}


def apply_ufunc(A: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """Return what Python's operator for a ufunc gives, or raise TypeError where there is none."""
    if method != "__call__" or options or ufunc not in _OPERATORS:
        raise TypeError(
            f"np.{ufunc.__name__} ({', '.join([method, *options])}) is not an operator of CSR; change the "
            "weights, A.with_data(f(A.data)), or use A.todense()"
        )
    # JAX's arrays leave operators with types that they do not know to those types; NumPy's ask here again.
    known = (as_array(x) if isinstance(x, np.ndarray | np.generic) else x for x in inputs)
    return _OPERATORS[ufunc](*known)


def no_array(instead: str) -> Callable[..., Never]:
    """Return an `__array__` that says what to do, where NumPy would make an array of one Python object."""

    def refuse(x: Any, dtype: Any = None, copy: Any = None) -> Never:
        raise TypeError(f"{type(x).__name__} is not made a NumPy array unasked; {instead}")

    return refuse


def is_sparse(x: Any) -> bool:
    """Return whether x is a sparse matrix of any library: only those can be made dense."""
    return hasattr(x, "todense")


def refuse(what: str, instead: str) -> Any:
    """Raise TypeError for what would give a matrix of another structure."""
    raise TypeError(f"{what} would change its structure, so it is not offered; use {instead}")


def at_entries(
    x: Any, indices: Any, indptr: Any, fill: int, *, shape: tuple[int, int], transpose: bool
) -> Any:
    """A number as it is; else x, broadcast to the matrix, at each entry, and `fill` at those out of range."""
    if np.ndim(x) == 0:
        return x
    dense = as_array(x)
    aligned = dense.reshape((1,) * (2 - dense.ndim) + dense.shape)
    aligned = aligned.T if transpose else aligned
    if aligned.ndim != 2 or any(
        given not in (1, size) for given, size in zip(aligned.shape, shape, strict=True)
    ):
        raise ValueError(
            f"an operand of shape {dense.shape} does not broadcast to the shape of the matrix, "
            f"{shape[::-1] if transpose else shape}; "
            "a product of matrices is A @ B"
        )
    rows, columns = rows_of(indptr, indices.shape[0]), indices
    # An axis of size 1 stands for every row or column, without being repeated in memory.
    rows = jnp.zeros_like(rows) if aligned.shape[0] == 1 else rows
    columns = jnp.zeros_like(columns) if aligned.shape[1] == 1 else columns
    return dense_at(aligned, rows, columns, fill)


def without_sign(data: jax.Array, indices: jax.Array, indptr: jax.Array) -> jax.Array:
    """Return weights of the absolute values: where entries share a place, the first has that of their sum."""
    if data.ndim == 0:
        return jnp.abs(data)
    rows = rows_of(indptr, indices.shape[0])
    order = jnp.lexsort((indices, rows))
    row, column = rows[order], indices[order]
    first = jnp.ones(row.shape, bool).at[1:].set((row[1:] != row[:-1]) | (column[1:] != column[:-1]))
    place = jnp.cumsum(first) - 1
    sums = jnp.zeros_like(data).at[place].add(data[order])
    return jnp.abs(jnp.zeros_like(data).at[order].set(jnp.where(first, sums[place], 0)))


def same_array(a: Any, b: Any) -> bool:
    """Whether two index arrays are equal; while tracing only one and the same array is."""
    if a is b:
        return True
    if not is_known(a, b):
        raise ValueError(
            "while tracing, two structures are only known to be equal where they are the same arrays; "
            "where you know they are: A.with_data(A.data + B.data)"
        )
    return bool(np.array_equal(np.asarray(a), np.asarray(b)))


def repeated(data: jax.Array, nse: int) -> jax.Array:
    """One weight per entry."""
    return data if data.ndim else jnp.broadcast_to(data, (nse,))
