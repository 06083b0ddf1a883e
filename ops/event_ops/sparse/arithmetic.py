"""Arithmetic that changes the weights of a matrix and keeps its structure; ufuncs as operators."""

import operator
from collections.abc import Callable
from typing import Any, Never

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.catalog.csr_scale_rows.op import csr_scale_rows
from event_ops.checks.arrays import as_array, is_known
from event_ops.checks.inputs import in_dtype
from event_ops.kernels.reference.entries import dense_at, grouped, rows_of

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
    """Apply the Python operator that a ufunc stands for, or raise TypeError if there is none."""
    if method != "__call__" or options or ufunc not in _OPERATORS:
        kind = type(A).__name__
        raise TypeError(
            f"np.{ufunc.__name__} ({', '.join([method, *options])}) is not an operator of {kind}; "
            "change the weights, A.with_data(f(A.data)), or use A.todense()"
        )
    # JAX's arrays leave operators with types that they do not know to those types; NumPy's ask here again.
    operands = (as_array(x) if isinstance(x, np.ndarray | np.generic) else x for x in inputs)
    return _OPERATORS[ufunc](*operands)


def no_array(instead: str) -> Callable[..., Never]:
    """Return a method `__array__` that raises TypeError: NumPy would make an array of one Python object."""

    def refuse(x: Any, dtype: Any = None, copy: Any = None) -> Never:
        raise TypeError(f"{type(x).__name__} is not made a NumPy array unasked; {instead}")

    return refuse


def no_equality(instead: str) -> Callable[..., Never]:
    """Return a method `__eq__` that raises TypeError: elements or objects, one has to say which."""

    def refuse(x: Any, other: Any) -> Never:
        raise TypeError(
            f"== would give an array of bools, or say whether this {type(x).__name__} is the same object; "
            f"use {instead}, or A is B"
        )

    return refuse


def is_sparse(x: Any) -> bool:
    """Return whether x is a sparse matrix of any library: only these have a method `todense`."""
    return hasattr(x, "todense")


def refuse(change: str, instead: str) -> Any:
    """Raise TypeError for an operation whose result would have another structure."""
    raise TypeError(f"{change} would change its structure, so it is not offered; use {instead}")


def scaled(how: Callable[[Any, Any], Any], A: Any, x: Any, fill: int) -> Any:
    """Return A with the weights how(w, x), for a number or an array x that broadcasts to the matrix.

    Entries that are out of range use `fill` for x.
    """
    if is_sparse(x):
        instead = "A.tocsr() * CSR(B)" if how is operator.mul else "to_scipy()"
        refuse("Multiplying or dividing two sparse matrices element by element", instead)
    if np.ndim(x) == 0:
        # A number of Python leaves the dtype of the weights, which has to hold it; one of NumPy has its own.
        if how is operator.mul and isinstance(x, int) and jnp.issubdtype(A.dtype, jnp.integer):
            x = in_dtype(x, A.dtype)
        return A.with_data(how(A.data, x if isinstance(x, int | float | complex) else as_array(x)))
    dense = as_array(x)
    aligned = dense.reshape((1,) * (2 - dense.ndim) + dense.shape)
    sizes = aligned.shape
    if len(sizes) != 2 or any(
        axis_size not in (1, size) for axis_size, size in zip(sizes, A.shape, strict=True)
    ):
        raise ValueError(
            f"an operand of shape {dense.shape} does not broadcast to the shape of the matrix, {A.shape}; "
            "a product of matrices is A @ B"
        )
    aligned = aligned.T if A.transposed else aligned
    if aligned.shape[1] == 1 and how is operator.mul:
        return A.with_data(_times_rows(A, aligned[:, 0]))
    return A.with_data(how(A.data, _at_entries(A, aligned, fill)))


def _times_rows(A: Any, x: jax.Array) -> jax.Array:
    """Return the weights, each times the element of x for its row, or the only one of x."""
    data, _, indptr = A._as_csr()
    dtype = jnp.result_type(data, x)
    # One weight for all becomes one each, since rows get different ones.
    weights = jnp.broadcast_to(data.astype(dtype), (A.nse,))
    factors = jnp.broadcast_to(x.astype(dtype), (indptr.shape[0] - 1,))
    return csr_scale_rows(weights, indptr, factors).reshape(A.indices.shape)


def _at_entries(A: Any, aligned: jax.Array, fill: int) -> jax.Array:
    _, columns, indptr = A._as_csr()
    rows = rows_of(indptr, A.nse)
    # An axis of size 1 stands for every row or column, without being repeated in memory.
    rows = jnp.zeros_like(rows) if aligned.shape[0] == 1 else rows
    columns = jnp.zeros_like(columns) if aligned.shape[1] == 1 else columns
    return dense_at(aligned, rows, columns, fill).reshape(A.indices.shape)


def added(how: Callable[[Any, Any], Any], A: Any, B: Any) -> Any:
    """Return A with the weights how(a, b); raise TypeError unless A and B are of one format and structure."""
    kind = type(A).__name__
    if not isinstance(B, type(A)):
        return refuse(f"Adding anything but a matrix {kind} of the same structure to one", "A.todense() + x")
    if not same_structure(A, B):
        return refuse(f"A sum of {kind} matrices of different structure", "A.to_scipy() + B.to_scipy()")
    return A.with_data(how(A.data, B.data))


def same_structure(A: Any, B: Any) -> bool:
    """Return whether entry k is in the same row and column in both matrices, for every k.

    Raise ValueError while tracing, unless the index arrays are the same objects.
    """
    if type(A) is not type(B) or (A.stored_shape, A.transposed) != (B.stored_shape, B.transposed):
        return False
    structures = zip(A._structure(), B._structure(), strict=True)
    return all(_same_array(a, b) for a, b in structures)


def _same_array(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if not is_known(a, b):
        raise ValueError(
            "while tracing, two structures are only known to be equal where they are the same arrays; "
            "where you know they are: A.with_data(A.data + B.data)"
        )
    return bool(np.array_equal(np.asarray(a), np.asarray(b)))


def without_sign(data: jax.Array, indices: jax.Array, indptr: jax.Array) -> jax.Array:
    """Return the weights of abs(A); the first of duplicate entries gets the absolute value of their sum."""
    if data.ndim == 0:
        return jnp.abs(data)
    order, first = grouped(rows_of(indptr, indices.shape[0]), indices, jnp)
    place = jnp.cumsum(first) - 1
    sums = jnp.zeros_like(data).at[place].add(data[order])
    return jnp.abs(jnp.zeros_like(data).at[order].set(jnp.where(first, sums[place], 0)))
