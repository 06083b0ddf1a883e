"""Diagonals of a `CSR`: read, added to, made."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks.arrays import as_array, check_shape
from event_ops.checks.csr import matrix_shape
from event_ops.kernels.reference.entries import sums_at
from event_ops.sparse.coordinates import coordinates, has_known_structure, known_coordinates, of_sorted
from event_ops.sparse.products import promoted

Matrix = TypeVar("Matrix", bound=Any)


@partial(jax.jit, static_argnames="k")
def diagonal(A: Any, k: int = 0) -> jax.Array:
    """`d[i] = A[i, i + k]`, for k < 0 `d[i] = A[i - k, i]`: 0 where no entry is, the sum of duplicates.

    Args:
        k: which diagonal, static; one beyond the corner is empty, as in SciPy.
    """
    row, column = coordinates(A)
    size = diagonal_size(A.shape, k)
    if abs(k) > jnp.iinfo(row.dtype).max:  # no entry is so far from the main one
        return jnp.zeros(size, A.dtype)
    # Of coordinates that are not negative neither difference overflows.
    on = (column - k == row) if k >= 0 else (row + k == column)
    return sums_at(jnp.where(on, A.data, 0), row if k >= 0 else column, size)


def diagonal_size(shape: tuple[int, int], k: int = 0) -> int:
    """Return how many elements diagonal k of a matrix has."""
    rows, columns = shape
    return max(min(rows + min(k, 0), columns - max(k, 0)), 0)


def add_diagonal(A: Matrix, x: ArrayLike) -> Matrix:
    """`A + diag(x)`: the matrix with x added to its main diagonal.

    Where every element of the diagonal is stored, structure and plan stay, and x is added to the first entry
    of each element. Otherwise the result has another structure, that of the sum `A + B`: the missing entries
    among the others, or, while the structure is traced, one more entry for each element of the diagonal.

    Args:
        x: a number, 0-d or (min(rows, columns),).

    Raises:
        ValueError: x of another shape.
    """
    if A.transposed:
        return add_diagonal(A.T, x).T
    n = diagonal_size(A.shape)
    x = jnp.asarray(x, A.dtype) if isinstance(x, (int, float)) else as_array(x)
    check_shape("x", x, (), (n,), why="a number, or one for each element of the diagonal")
    places = _stored_places(A, n) if has_known_structure(A) else None
    data, x = promoted(A.repeated_data(), x)
    if places is not None:
        return A.with_data(data.at[places].add(x, unique_indices=True))
    return A + _of_diagonal(type(A), jnp.broadcast_to(x, (n,)), A.shape)


def _stored_places(A: Any, n: int) -> Any:
    """Return where the first entry of each element of the diagonal is stored; None if one has none."""
    row, column, k = known_coordinates(A)
    on = row == column
    found, first = np.unique(row[on], return_index=True)
    return k[on][first] if found.size == n else None


def eye(cls: type[Matrix], n: int, m: int | None = None, *, k: int = 0, dtype: Any = float) -> Matrix:
    """`A[i, i + k] = 1`: ones on diagonal k, and nothing else stored.

    Args:
        n: rows, static.
        m: columns, static; default: as many as rows.
        k: which diagonal, static: above the main one for k > 0, below it for k < 0.
        dtype: of the weights.

    Raises:
        ValueError: a negative size.
    """
    shape = matrix_shape((n, n if m is None else m))
    return _of_diagonal(cls, jnp.ones(diagonal_size(shape, k), dtype), shape, k)


def _of_diagonal(cls: Any, x: jax.Array, shape: tuple[int, int], k: int = 0) -> Any:
    """Return the matrix of `shape` that has x on diagonal k."""
    i = np.arange(x.size)
    return of_sorted(cls, x, i + max(-k, 0), i + max(k, 0), shape)
