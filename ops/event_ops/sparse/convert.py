"""Conversion of CSR matrices from and to other formats and text, with the order of their entries."""

from __future__ import annotations

import math
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.catalog.csr_tocsc.op import csr_tocsc
from event_ops.checks.arrays import (
    WEIGHTS,
    as_array,
    check_countable,
    check_rank,
    check_shape,
    is_known,
    summed_in,
)
from event_ops.checks.csr import (
    KEEP,
    MEND,
    check_csr,
    check_in_range,
    check_indptr,
    event_weights,
    matrix_shape,
)

# Sparse modules are imported by name, when needed: with them `import event_ops` would take twice the time.


class Parts(NamedTuple):
    """The three arrays and the shape of a CSR matrix, and which of the given entries each entry is.

    order: (nse,), integers; None where entry k is entry k of what was given.
    """

    data: Any
    indices: Any
    indptr: Any
    shape: tuple[int, int]
    order: Any = None


def parts_given(data: Any, indices: Any, indptr: Any, shape: Any, validate: bool) -> Parts:
    """Return the parts of the matrix that these arguments of `CSR(...)` describe."""
    if isinstance(data, Parts):
        return data
    if indices is not None and indptr is not None:
        return Parts(data, indices, indptr, shape)
    if indices is not None or indptr is not None:
        missing = "indices" if indices is None else "indptr"
        raise TypeError(f"{missing} is missing; expected CSR(data, indices, indptr, shape=...)")
    if isinstance(data, tuple):
        return _parts_of_tuple(data, shape, validate)
    parts = _parts_of_matrix(data, validate)
    if shape is not None and matrix_shape(shape) != tuple(parts.shape):
        raise ValueError(f"shape is {shape}, and the matrix has shape {parts.shape}; leave shape out")
    return parts


def checked(parts: Parts, validate: bool) -> Parts:
    """Return the parts as arrays; raise unless they can be a matrix, with `validate` also by their values."""
    indices, indptr = as_array(parts.indices, "indices"), as_array(parts.indptr, "indptr")
    data, shape = event_weights(as_array(parts.data, "data"), indices, float), matrix_shape(parts.shape)
    check_csr(data, indices, indptr, shape, WEIGHTS)
    if validate:
        check_indptr(indptr, indices.shape[0], KEEP)
        check_in_range("indices", indices, shape[1], "columns", KEEP)
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


def coordinates(row: Any, col: Any, data: Any) -> tuple[Any, Any, Any]:
    """Return row, col and data, which may also be given as SciPy does: (data, (row, col)) as `row` alone."""
    if col is None and data is None and _is_coo(row):
        return (*row[1], row[0])
    if col is None or data is None:
        raise TypeError("expected row, col and data, or (data, (row, col))")
    return row, col, data


def _parts_of_tuple(arrays: tuple[Any, ...], shape: Any, validate: bool) -> Parts:
    if len(arrays) == 3:
        return Parts(*arrays, shape)
    if _is_coo(arrays):
        return parts_of_coo(*coordinates(arrays, None, None), shape, validate)
    raise TypeError(
        f"got a tuple of {len(arrays)}; expected (data, indices, indptr) or (data, (row, col)), with shape="
    )


def _is_coo(x: Any) -> bool:
    return isinstance(x, tuple) and len(x) == 2 and isinstance(x[1], tuple) and len(x[1]) == 2


def _parts_of_matrix(matrix: Any, validate: bool) -> Parts:
    if hasattr(matrix, "stored_shape"):  # one of ours
        B = matrix.tocsr()
        return kept(Parts(B.data, B.indices, B.indptr, B.shape), KEEP if validate else None)
    if hasattr(matrix, "tocsr"):
        return parts_of_scipy(matrix)
    if hasattr(matrix, "n_batch"):
        return (parts_of_bcsr if hasattr(matrix, "indptr") else parts_of_bcoo)(matrix, validate)
    if hasattr(matrix, "todense"):
        kind = f"{type(matrix).__module__}.{type(matrix).__qualname__}"
        raise TypeError(f"got {kind}; expected BCSR, BCOO or a matrix of SciPy; use matrix.todense()")
    return parts_of_dense(matrix, None)


def text_of(A: Any, *, axes: int, per: str = "") -> str:
    """Return the text of a matrix whose indices have so many axes, the last with the entries of `per`.

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


def _parts_of_csr(A: Any, hint: str | None) -> Parts:
    B = A.tocsr()
    return kept(Parts(B.repeated_data(), B.indices, B.indptr, B.shape), hint)


def parts_of_scipy(matrix: Any, ordered: bool = False) -> Parts:
    """Convert any sparse matrix or array of SciPy as its `tocsr` does, which adds duplicates of COO up.

    With `ordered` also find the order, where the entries of the matrix have one.
    """
    if not hasattr(matrix, "tocsr") or len(matrix.shape) != 2:
        raise TypeError(f"expected a 2-d SciPy sparse array, got {type(matrix).__name__}; see from_dense")
    csr = matrix.tocsr()
    return Parts(csr.data, csr.indices, csr.indptr, csr.shape, _order_of_scipy(matrix) if ordered else None)


def _order_of_scipy(matrix: Any) -> Any:
    if matrix.format == "csr":
        return None
    if matrix.format not in ("csc", "coo"):
        raise TypeError(
            f"got a SciPy matrix of format {matrix.format!r} with return_order=True; expected 'csr', 'csc' "
            "or 'coo', whose entries have an order: convert it first, for example by matrix.tocoo()"
        )
    coo = matrix.tocoo()
    count = np.arange(coo.nnz, dtype=np.int32 if coo.nnz < 2**31 else np.int64)
    numbered = import_module("scipy.sparse").coo_array((count, (coo.row, coo.col)), shape=coo.shape).tocsr()
    if numbered.nnz < coo.nnz:
        raise ValueError(
            f"{coo.nnz - numbered.nnz} of {coo.nnz} entries are duplicates, which SciPy adds up; expected "
            "none with return_order=True; CSR.from_coo((S.data, (S.row, S.col)), shape=S.shape, "
            "return_order=True) of S.tocoo() keeps them"
        )
    return numbered.data


def scipy_of(A: Any) -> Any:
    """Return a `scipy.sparse.csr_array`; raise ValueError if SciPy would read out of bounds."""
    parts = _parts_of_csr(A, MEND)
    data = parts.data.astype(summed_in(parts.data))  # SciPy has no floats of 16 bits
    data, indices, indptr = map(np.asarray, (data, parts.indices, parts.indptr))
    check_indptr(indptr, indices.size, MEND)
    check_in_range("indices", indices, parts.shape[1], "columns", MEND)
    return import_module("scipy.sparse").csr_array((data, indices, indptr), shape=parts.shape)


def kept(parts: Parts, hint: str | None = MEND, *, free: bool = True) -> Parts:
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
        check_in_range("row", row, shape[0], "rows", KEEP)
    # The rows are the columns of a matrix whose only row has every entry.
    everything = jnp.array([0, row.shape[0]], jnp.int32 if row.shape[0] < 2**31 else jnp.int64)
    _, indptr, order = csr_tocsc(row, everything, shape=(1, shape[0]))
    data = data[order] if np.ndim(data) and np.shape(data) != (1,) else data
    return Parts(data, col[order], indptr, shape, order)


def parts_of_bcoo(matrix: Any, validate: bool = True) -> Parts:
    """Convert a `jax.experimental.sparse.BCOO`; drop its padding if the indices are known."""
    _check_flat(matrix)
    row, col, data = matrix.indices[:, 0], matrix.indices[:, 1], matrix.data
    if is_known(row, col):
        inside = np.asarray((row < matrix.shape[0]) & (col < matrix.shape[1]))
        if not inside.all():
            parts = parts_of_coo(row[inside], col[inside], data[inside], matrix.shape, validate)
            return parts._replace(order=numbers(inside.size)[inside][parts.order])
    return parts_of_coo(row, col, data, matrix.shape, validate)


def parts_of_bcsr(matrix: Any, validate: bool = True) -> Parts:
    """Convert a `jax.experimental.sparse.BCSR`; drop its padding if indptr is known."""
    _check_flat(matrix)
    return kept(Parts(matrix.data, matrix.indices, matrix.indptr, matrix.shape), KEEP if validate else None)


def bcsr_of(A: Any) -> Any:
    """Return a `jax.experimental.sparse.BCSR`."""
    parts = _parts_of_csr(A, None)
    return import_module("jax.experimental.sparse").BCSR(parts[:3], shape=parts.shape)


def parts_of_dense(matrix: Any, nse: int | None) -> Parts:
    """Convert the non-zero elements; pad them up to `nse` with zeros in the last row, column 0."""
    matrix = as_array(matrix)
    check_rank("matrix", matrix, 2, "rows and columns")
    _check_nse(matrix, nse)
    most = int(np.count_nonzero(matrix)) if nse is None else nse
    row, col, data = _nonzeros(matrix, most if matrix.size else 0)
    return parts_of_coo(row, col, data, matrix.shape)


@partial(jax.jit, static_argnames="nse")
def _nonzeros(matrix: jax.Array, nse: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return row, column and value of the first `nse` elements that are not zero."""
    padding = (max(matrix.shape[0] - 1, 0), 0)
    row, col = jnp.nonzero(matrix, size=nse, fill_value=padding)
    real = jnp.arange(nse) < jnp.count_nonzero(matrix)
    data = jnp.where(real, matrix[row, col], 0) if matrix.size else jnp.zeros(nse, matrix.dtype)
    return row, col, data


def _check_nse(matrix: Any, nse: int | None) -> None:
    if not is_known(matrix):
        if nse is None:
            raise ValueError(
                "while tracing the number of non-zeros is not known; give the most of them: "
                "CSR.from_dense(matrix, nse=...)"
            )
    elif nse is not None and (found := np.count_nonzero(matrix)) > nse:
        raise ValueError(f"nse is {nse}, and {found} elements are not zero; expected room for all of them")


def _check_flat(matrix: Any) -> None:
    if matrix.n_batch or matrix.n_dense or len(matrix.shape) != 2:
        raise ValueError(
            f"expected a matrix without batch and dense axes, got shape {matrix.shape} with "
            f"n_batch={matrix.n_batch}, n_dense={matrix.n_dense}; convert one matrix at a time"
        )
