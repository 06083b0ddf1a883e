"""What `CSR(...)` takes in the place of its three arrays: a tuple of arrays as in SciPy, or a matrix."""

from __future__ import annotations

from typing import Any

from event_ops.checks.csr import matrix_shape
from event_ops.sparse.formats import (
    Parts,
    parts_of_bcoo,
    parts_of_bcsr,
    parts_of_coo,
    parts_of_dense,
    parts_of_scipy,
)


def parts_given(data: Any, indices: Any, indptr: Any, shape: Any, validate: bool) -> Parts:
    """Return the parts of the matrix that these arguments of `CSR` are."""
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


def coordinates(row: Any, col: Any, data: Any) -> tuple[Any, Any, Any]:
    """Return row, col and data, given so, or as SciPy has them: `row` is (data, (row, col))."""
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
    if hasattr(matrix, "tocsr"):
        return parts_of_scipy(matrix)
    if hasattr(matrix, "n_batch"):
        return (parts_of_bcsr if hasattr(matrix, "indptr") else parts_of_bcoo)(matrix, validate)
    if hasattr(matrix, "todense"):
        kind = f"{type(matrix).__module__}.{type(matrix).__qualname__}"
        raise TypeError(f"got {kind}; expected BCSR, BCOO or a matrix of SciPy; use matrix.todense()")
    return parts_of_dense(matrix, None)
