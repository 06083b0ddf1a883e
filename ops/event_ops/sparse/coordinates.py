"""The entries of a CSR one by one: coordinates, lengths of rows, sums, and diagonals."""

from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks.arrays import as_array, check_countable, check_shape, counter, is_inside, is_known
from event_ops.checks.csr import matrix_shape
from event_ops.checks.inputs import in_dtype
from event_ops.checks.keywords import known_integer
from event_ops.kernels.reference.entries import grouped, rows_of, sums_at
from event_ops.sparse.convert import Parts, order_of, spanned_entries
from event_ops.sparse.products import promoted


def to_coo(A: Any, *, return_order: bool = False) -> Any:
    """Return `(data, (row, col))`: every entry in the order in which it is stored, duplicates too.

    `CSR(A.to_coo(), shape=A.shape)` is the way back. Entries that no row holds and free slots are left out;
    while tracing they stay, with a row or a column out of range.

    Args:
        return_order: return `((data, (row, col)), order)`: entry k here is entry order[k] of A, so that
            `x[order]` are attributes of entries that x has in the order of A.data.
    """
    parts = spanned_entries(Parts(A.repeated_data(), A.indices, A.indptr, A.stored_shape))
    row = rows_of(parts.indptr, parts.indices.shape[0])
    entries = parts.data, ((parts.indices, row) if A.transposed else (row, parts.indices))
    return (entries, order_of(parts)) if return_order else entries


@jax.jit
def coordinates(A: Any) -> tuple[jax.Array, jax.Array]:
    """Return the row and the column of every entry in one dtype, each out of range where the entry's is."""
    rows, columns = A.stored_shape
    if jnp.issubdtype(A.indices.dtype, jnp.unsignedinteger):
        check_countable(columns, "columns")
    kind = jax.dtypes.canonicalize_dtype(counter(max(rows, columns)))
    row = rows_of(A.indptr, A.nse).astype(kind)
    column = jnp.where(is_inside(A.indices, columns), A.indices.astype(kind), jnp.asarray(-1, kind))
    return (column, row) if A.transposed else (row, column)


def outside_index(columns: int, dtype: Any) -> jax.Array:
    """Return an index that is no column: `columns`, or -1 where the dtype does not have that."""
    fits = columns <= jnp.iinfo(dtype).max
    if not fits and jnp.issubdtype(dtype, jnp.unsignedinteger):
        raise ValueError(
            f"indices have dtype {dtype}, all of which are columns; expected int64 for {columns}"
        )
    return jnp.asarray(columns if fits else -1, dtype)


def has_known_structure(*matrices: Any) -> bool:
    """Return whether the index arrays of all matrices can be looked at now."""
    return all(is_known(A.indices, A.indptr) for A in matrices)


def known_coordinates(A: Any) -> tuple[Any, Any, Any]:
    """Return, in NumPy, row and column of the entries that count, and where these are stored.

    The structure has to be known; the weights may be traced.
    """
    indices, indptr = np.asarray(A.indices), np.asarray(A.indptr).astype(np.int64)
    row = np.searchsorted(indptr, np.arange(indices.size), side="right") - 1
    rows, columns = A.stored_shape
    # An unsigned index that int64 cannot hold becomes a negative one, which is out of range as well.
    column = indices.astype(np.int64)
    (k,) = np.nonzero((row >= 0) & (row < rows) & (column >= 0) & (column < columns))
    row, column = row[k], column[k]
    return (column, row, k) if A.transposed else (row, column, k)


def distinct(row: Any, column: Any) -> tuple[Any, Any, Any]:
    """Return known coordinates sorted and each once, and for each given one which of these it is."""
    order, first = grouped(row, column, np)
    places = np.empty(row.size, np.int64)
    places[order] = np.cumsum(first) - 1
    return row[order][first], column[order][first], places


def of_sorted(kind: type, data: jax.Array, row: Any, column: Any, shape: tuple[int, int]) -> Any:
    """Return the `CSR` of these weights, whose known coordinates are sorted by row and in range."""
    indptr = np.searchsorted(row, np.arange(shape[0] + 1))
    return kind(data, constant(column, *shape), constant(indptr, len(row)), shape=shape, validate=False)


def constant(positions: Any, *largest: int) -> jax.Array:
    """Return positions in NumPy as an array that is known even in a function that is being traced.

    Its dtype is int32, or int64 if one of the sizes in `largest` needs it.
    """
    # Otherwise the program would hold it as a traced value, at which nothing could look afterwards.
    with jax.ensure_compile_time_eval():
        return as_array(positions.astype(counter(max(largest))), "a structure")


@jax.jit
def row_lengths(A: Any) -> jax.Array:
    """Count the entries of each row, (rows,), duplicates and stored zeros too; dtype of indptr.

    Free slots of a row count, too, except where the matrix is transposed: they are in no column.
    """
    if A.transposed:
        row, column = coordinates(A)
        held = is_inside(column, A.shape[1])
        return sums_at(held.astype(A.indptr.dtype), row, A.shape[0])
    starts, ends = (bounded(x, A.nse) for x in (A.indptr[:-1], A.indptr[1:]))
    return jnp.where(ends > starts, ends - starts, 0)


@partial(jax.jit, static_argnames="nse")
def bounded(positions: jax.Array, nse: int) -> jax.Array:
    """Return positions in [0, nse] as they are and all else as nse, as the kernels read an indptr."""
    return jnp.where((positions >= 0) & (positions <= nse), positions, jnp.asarray(nse, positions.dtype))


def sum_along(A: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> jax.Array:
    """Return the sum of all weights, or with `axis` 0 or 1 (-2 or -1) the sums of columns or of rows.

    Integers of 8 or 16 bits are added as those of 32 or 64, as `jnp.sum` does; `np.sum(A)` comes here, too.

    Args:
        axis: None; 0 for (columns,), a sum for each column; 1 for (rows,), a sum for each row.
        dtype: to add up in; default: that of the weights.
        out: None; NumPy's functions pass it.

    Raises:
        TypeError: an `out`, or an axis that is no integer.
        ValueError: another axis.
    """
    if axis is not None and known_integer("axis", axis) not in (0, 1, -1, -2):
        raise ValueError(f"axis is {axis!r}; expected None, 0 for the sums of columns or 1 for those of rows")
    if out is not None:
        raise TypeError("got out=; expected none: nothing is written in place, the sums are returned")
    if dtype is None:
        dtype = jax.eval_shape(jnp.sum, jax.ShapeDtypeStruct((1,), A.dtype)).dtype
    # By a product, which has kernels and derivatives for every storage.
    B = A.T if axis in (0, -2) else A
    sums = B.astype(dtype) @ jnp.ones(B.shape[1], dtype)
    return sums.sum() if axis is None else sums


Matrix = TypeVar("Matrix", bound=Any)


def diagonal(A: Any, k: int = 0) -> jax.Array:
    """`d[i] = A[i, i + k]`, for k < 0 `d[i] = A[i - k, i]`: 0 where no entry is, the sum of duplicates.

    Args:
        k: which diagonal, static; one beyond the corner is empty, as in SciPy.
    """
    return _diagonal(A, known_integer("k", k))


@partial(jax.jit, static_argnames="k")
def _diagonal(A: Any, k: int) -> jax.Array:
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
    x = in_dtype(x, jnp.result_type(A.data, x)) if isinstance(x, (int, float)) else as_array(x)
    check_shape("x", x, (), (n,), why="a number, or one for each element of the diagonal")
    data, x = promoted(A.repeated_data(), x)
    if has_known_structure(A):
        row, column, k = known_coordinates(A)
        on = row == column
        # Duplicates add up: x goes to one of them alone.
        stored, first = np.unique(row[on], return_index=True)
        if stored.size == n:
            return A.with_data(data.at[k[on][first]].add(x, unique_indices=True))
    return A + _of_diagonal(type(A), jnp.broadcast_to(x, (n,)), A.shape)


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
    k = known_integer("k", k)
    return _of_diagonal(cls, jnp.ones(diagonal_size(shape, k), dtype), shape, k)


def _of_diagonal(cls: Any, x: jax.Array, shape: tuple[int, int], k: int = 0) -> Any:
    """Return the matrix of `shape` that has x on diagonal k."""
    i = np.arange(x.size)
    return of_sorted(cls, x, i + max(-k, 0), i + max(k, 0), shape)
