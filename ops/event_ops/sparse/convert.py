"""The parts of a CSR matrix: made of coordinates or a dense matrix, checked, and as text."""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.catalog.csr_tocsc.op import csr_tocsc
from event_ops.checks.arrays import WEIGHTS, as_array, check_countable, check_rank, check_shape, is_known
from event_ops.checks.contracts import ids_in
from event_ops.checks.csr import KEEP, MEND, check_csr, check_indptr, event_weights, matrix_shape
from event_ops.checks.keywords import known_size
from event_ops.checks.values import check_room, check_values


class Parts(NamedTuple):
    """The three arrays and the shape of a CSR matrix, and which of the given entries each entry is.

    order: (nse,), integers; None where entry k is entry k of what was given.
    """

    data: Any
    indices: Any
    indptr: Any
    shape: tuple[int, int]
    order: Any = None


def checked(parts: Parts, validate: bool) -> Parts:
    """Return the parts as arrays; raise unless they can be a matrix, with `validate` also by their values."""
    indices, indptr = as_array(parts.indices, "indices"), as_array(parts.indptr, "indptr")
    data, shape = event_weights(as_array(parts.data, "data"), indices, float), matrix_shape(parts.shape)
    check_csr(data, indices, indptr, shape, WEIGHTS)
    if validate:
        check_indptr(indptr, indices.shape[0], KEEP)
        check_values("indices", indices, ids_in(shape[1], "columns"), KEEP)
    return Parts(data, indices, indptr, shape, parts.order)


def built(kind: Any, parts: Parts, validate: bool, return_order: bool) -> Any:
    """Return the matrix of these parts; with return_order also which of the given entries each entry is."""
    A = kind(parts, validate=validate)
    return (A, order_of(parts)) if return_order else A


def order_of(parts: Parts) -> Any:
    """Return `order` as an array, also where entries are as they were given."""
    return numbers(parts.indices.shape[0]) if parts.order is None else jnp.asarray(parts.order)


def numbers(nse: int) -> jax.Array:
    """Return 0, 1, ..., nse - 1, int32, or int64 where nse is too large for it."""
    check_countable(nse, "entries")
    return jnp.arange(nse, dtype=jnp.int32 if nse < 2**31 else jnp.int64)


def text_of(A: Any, *, axes: int, per: str = "") -> str:
    """Return the text of a matrix whose indices have `axes` axes, the last with the entries of `per`.

    It may be a batch of matrices, or have leaves that are not arrays.
    """
    rows, columns = A.shape
    sizes, places = (getattr(leaf, "shape", None) for leaf in (A.data, A.indices))
    entries = (places or "?")[-1]
    size = rows * columns
    full = f" ({math.prod(places[-axes:]) / size:.2g} of all)" if places and size else ""
    batch = (places or ())[:-axes] or (sizes or ())[:-axes]
    slots = axes == 1 and not batch and isinstance(A.indices, jax.Array) and is_known(A.indices)
    free = f", {count} of them free" if slots and (count := int(A.free.sum())) else ""
    weights = "one weight, " if sizes == batch else ""
    notes = ", transposed" * A.transposed + ", planned" * (A.by_column is not None)
    notes += f", a batch of {batch}" if batch else ""
    data, indices = (str(getattr(leaf, "dtype", type(leaf).__name__)) for leaf in (A.data, A.indices))
    stored = f"{entries} entries{per}{full}{free}, {weights}{data}, indices {indices}"
    return f"{type(A).__name__}({rows} x {columns}, {stored}{notes})"


def row_of_each(indptr: Any) -> Any:
    """Return the row of each entry of a known indptr."""
    lengths = np.diff(np.asarray(indptr))
    # NumPy repeats as often as signed integers say.
    return np.repeat(np.arange(lengths.size), lengths.astype(np.int64))


def spanned_entries(parts: Parts, hint: str | None = MEND, *, free: bool = True) -> Parts:
    """Return the parts without entries that indptr does not span, and without free slots, where known.

    A free slot has the index `columns`, which `prune` gives it; with free=False it stays. Raise ValueError,
    which ends with `hint`, for an indptr that decreases, unless the hint is None.
    """
    data, indices, indptr, shape, order = parts
    nse = indices.shape[0]
    if not is_known(indptr):
        return parts
    if hint:
        check_indptr(indptr, nse, hint, whole=False)
    ends = np.asarray(indptr)
    there = np.zeros(nse, bool)
    there[max(int(ends[0]), 0) : max(int(ends[-1]), 0)] = True
    if free and is_known(indices):
        there &= np.asarray(indices) != shape[1]
    if there.all() and ends[0] == 0 and ends[-1] == nse:
        return parts
    (places,) = np.nonzero(there)
    return Parts(
        data[places] if data.ndim else data,
        indices[places],
        # A row begins behind as many entries as are left in front of where it began.
        jnp.asarray(np.searchsorted(places, ends).astype(ends.dtype)),
        shape,
        places.astype(np.int32 if nse < 2**31 else np.int64) if order is None else order[places],
    )


def parts_of_coo(row: Any, col: Any, data: Any, shape: Any, validate: bool = True) -> Parts:
    """Sort entries by row; keep the order within a row."""
    shape = matrix_shape(shape)
    row, col, data = as_array(row, "row"), as_array(col, "col"), as_array(data)
    check_rank("row", row, 1, "one per entry")
    check_shape("col", col, row.shape, why="one per entry, as many as row")
    if data.shape not in ((), (1,)):
        check_shape("data", data, row.shape, why="one weight per entry, as many as row, or one for all")
    if validate:
        check_values("row", row, ids_in(shape[0], "rows"), KEEP)
    # The rows are the columns of a matrix whose only row has every entry.
    everything = jnp.array([0, row.shape[0]], jnp.int32 if row.shape[0] < 2**31 else jnp.int64)
    _, indptr, order = csr_tocsc(row, everything, shape=(1, shape[0]))
    data = data[order] if np.ndim(data) and np.shape(data) != (1,) else data
    return Parts(data, col[order], indptr, shape, order)


def parts_of_dense(matrix: Any, nse: int | None) -> Parts:
    """Convert the non-zero elements; pad them up to `nse` with zeros in the last row, column 0."""
    matrix = as_array(matrix)
    check_rank("matrix", matrix, 2, "rows and columns")
    count = int(np.count_nonzero(matrix)) if is_known(matrix) else None
    most = count if nse is None else known_size("nse", nse)
    if most is None:
        raise ValueError(
            "while tracing the number of non-zeros is not known; give the most of them: "
            "CSR.from_dense(matrix, nse=...)"
        )
    if count is not None and count > most:
        raise ValueError(f"nse is {nse}, and {count} elements are not zero; expected room for all of them")
    row, col, data, found = _nonzeros(matrix, most if matrix.size else 0)
    if count is None:
        data = nan_unless(check_room("CSR.from_dense", found, most) <= most, data)
    return parts_of_coo(row, col, data, matrix.shape)


@partial(jax.jit, static_argnames="nse")
def _nonzeros(matrix: jax.Array, nse: int) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Return row, column and value of the first `nse` elements that are not zero, and how many there are."""
    # In the last row, so that entries stay sorted by row.
    padding = (max(matrix.shape[0] - 1, 0), 0)
    row, col = jnp.nonzero(matrix, size=nse, fill_value=padding)
    found = jnp.count_nonzero(matrix)
    real = jnp.arange(nse) < found
    zero = jnp.zeros((), matrix.dtype)  # beside a number of Python, bools would become integers
    data = jnp.where(real, matrix[row, col] if matrix.size else zero, zero)
    return row, col, data, found


def nan_unless(fits: jax.Array, data: jax.Array) -> jax.Array:
    """Return the weights, or NaN in their place if some did not fit and they are no integers."""
    return jnp.where(fits, data, jnp.nan) if jnp.issubdtype(data.dtype, jnp.inexact) else data
