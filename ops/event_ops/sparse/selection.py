"""Rows and columns of a `CSR`, as a `CSR`."""

from typing import Any, TypeVar, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks.arrays import INTEGERS, as_array, check_dtype, check_rank, is_known
from event_ops.checks.keywords import known_size
from event_ops.checks.values import check_room
from event_ops.kernels.reference.entries import rows_of, values_at
from event_ops.sparse.convert import nan_unless
from event_ops.sparse.coordinates import bounded, constant, outside_index, row_lengths

Matrix = TypeVar("Matrix", bound=Any)

_ALL = slice(None)


@overload
def rows(A: Matrix, ids: ArrayLike, *, nse: int | None = ...) -> Matrix: ...


@overload
def rows(A: Any, ids: ArrayLike, *, nse: int | None = ..., return_order: bool) -> Any: ...


def rows(A: Any, ids: ArrayLike, *, nse: int | None = None, return_order: bool = False) -> Any:
    """`B[r] = A[ids[r]]`: the matrix of these rows, in this order; a row may occur more than once.

    An id out of range, such as the padding of `spike_compact`, gives an empty row; none counts from the end.
    With `nse` the result has so many entries: those that are left over have weight 0, a column out of range
    and a place behind what indptr spans, so that products skip them. If the rows have more than nse entries
    while tracing, the weights, unless they are integers, are NaN, and those of the last rows are missing;
    `validate` raises. Differentiable in the weights.

    Args:
        ids: (n,), integers.
        nse: room for so many entries, static; needed where ids or the structure are traced. Default: as many
            as there are.
        return_order: return `(matrix, order)`: entry k of it is entry order[k] of A; one that is left over
            has the order A.nse, which is out of range.

    Raises:
        TypeError: ids that are not integers.
        ValueError: ids that are not a vector; no nse while tracing; an nse that is known to be too small.
    """
    ids = as_array(ids, "ids")
    check_dtype("ids", ids, INTEGERS, otherwise="; of a mask: A[mask], or jnp.flatnonzero(mask, size=n)")
    check_rank("ids", ids, 1, "the number of a row for each row of the result")
    B, of_b = A.tocsr(return_order=True)
    lengths = values_at(row_lengths(B), ids)
    starts = values_at(bounded(B.indptr[:-1], B.nse), ids)
    ends, total = ends_of_lengths(lengths)
    if nse is None:
        if not is_known(ids, B.indptr):
            raise ValueError(
                "while tracing, the number of entries in these rows is not known; give the most that there "
                "can be: A.rows(ids, nse=...)"
            )
        # In NumPy, which is not traced even where a function around this is.
        indptr, known_ids = np.asarray(B.indptr).astype(np.int64), np.asarray(ids)
        indptr = np.where((indptr >= 0) & (indptr <= B.nse), indptr, B.nse)
        held = np.maximum(np.diff(indptr), 0)
        nse = int(held[known_ids[(known_ids >= 0) & (known_ids < held.size)]].sum())
    nse = known_size("nse", nse)
    total = check_room("A.rows", total, nse)
    row = rows_of(ends, nse)
    places = values_at(starts, row) + jnp.arange(nse, dtype=starts.dtype) - values_at(ends, row)
    real = jnp.arange(nse, dtype=ends.dtype) < ends[-1]
    outside = outside_index(B.shape[1], B.indices.dtype)
    indices = jnp.where(real, values_at(B.indices, places), outside)
    data = jnp.where(real, values_at(B.data, places), 0) if B.data.ndim else B.data
    data, shape = nan_unless(total <= nse, data), (ids.shape[0], B.shape[1])
    chosen = type(A)(data, indices, ends, shape=shape, validate=False)
    left_over = jnp.asarray(A.nse, of_b.dtype)
    return (chosen, jnp.where(real, values_at(of_b, places), left_over)) if return_order else chosen


@jax.jit
def ends_of_lengths(lengths: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the indptr of rows of these lengths, and its last element, or the largest integer below it."""
    ends = jnp.concatenate([jnp.zeros(1, lengths.dtype), jnp.cumsum(lengths, dtype=lengths.dtype)])
    most = jnp.iinfo(lengths.dtype).max
    # The sum in floats does not wrap around; one within its rounding of the largest integer counts as larger.
    fits = lengths.astype(jnp.float32).sum() < most * (1 - 1e-5)
    return ends, jnp.where(fits, ends[-1], lengths.dtype.type(most))  # no int of Python, as of uint64


def at_key(A: Matrix, key: Any) -> Matrix:
    """Return `A[key]` for rows, `A[rows, columns]` where one of both is a slice; as in NumPy.

    With the order of the entries: `A.rows(ids, return_order=True)`; of columns `A.T.rows(ids, ...)`.
    """
    if not isinstance(key, tuple):
        return _chosen(A, key)
    if len(key) != 2 or not any(isinstance(part, slice) for part in key):
        raise IndexError(
            f"a matrix has rows and columns, A[rows, columns], of which one is a slice; got {key}; for both: "
            "A[rows][:, columns]; for one element: A.todense()[i, j]"
        )
    of_rows, of_columns = key
    return _chosen(_chosen(A, of_rows).T, of_columns).T


def _chosen(A: Any, key: Any) -> Any:
    """Return the rows that a slice, integers or a mask choose."""
    n = A.shape[0]
    if isinstance(key, slice):
        return A if key == _ALL else rows(A, constant(np.arange(*key.indices(n)), n))
    if not is_known(key):
        raise ValueError("ids that are traced: A.rows(ids, nse=...), with the most entries that there can be")
    ids = np.asarray(key)
    if ids.ndim != 1:
        raise TypeError(
            f"got an index with {ids.ndim} dimensions; expected a slice, or integers or bools in one; "
            "A[[i]] is row i as a matrix, A[[i]].todense()[0] as a vector"
        )
    if ids.dtype == bool:
        if ids.size != n:
            raise IndexError(f"the mask has {ids.size} elements; expected {n}, one for each row or column")
        (ids,) = np.nonzero(ids)
    elif ids.size and ids.dtype.kind not in "iu":
        raise IndexError(f"an index has dtype {ids.dtype}; expected integers or bools")
    wrong = (ids < -n) | (ids >= n)
    if wrong.any():
        raise IndexError(f"index {ids[wrong][0]} is out of range; expected {-n} to {n - 1}")
    return rows(A, constant(np.where(ids < 0, ids + n, ids), n))
