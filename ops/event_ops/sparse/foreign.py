"""Convert matrices of SciPy, JAX and files to CSR and back, with the order of their entries."""

import gzip
import os
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from event_ops.checks.arrays import counter, is_known, summed_in
from event_ops.checks.contracts import ids_in
from event_ops.checks.csr import KEEP, MEND, check_indptr, matrix_shape
from event_ops.checks.values import check_values
from event_ops.sparse.convert import Parts, numbers, parts_of_coo, parts_of_dense, spanned_entries

# Sparse modules are imported by name, when needed: with them `import event_ops` would take twice the time.


def parts_given(data: Any, indices: Any, indptr: Any, shape: Any, validate: bool) -> Parts:
    """Return the parts of the matrix that these arguments of `CSR(...)` describe."""
    if isinstance(data, Parts):
        return data
    if indices is not None and indptr is not None:
        return Parts(data, indices, indptr, shape)
    if indices is not None or indptr is not None:
        missing = "indices" if indices is None else "indptr"
        raise TypeError(f"{missing} is missing; expected CSR(data, indices, indptr, shape=...)")
    if isinstance(data, tuple) and len(data) == 3:
        return Parts(*data, shape)
    if _is_coo(data):
        return parts_of_coo(*coordinates(data, None, None), shape, validate)
    if isinstance(data, tuple):
        raise TypeError(
            f"got a tuple of {len(data)}; expected (data, indices, indptr) or (data, (row, col)), with shape="
        )
    parts = _parts_of_matrix(data, validate)
    if shape is not None and matrix_shape(shape) != tuple(parts.shape):
        raise ValueError(f"shape is {shape}, and the matrix has shape {parts.shape}; leave shape out")
    return parts


def coordinates(row: Any, col: Any, data: Any) -> tuple[Any, Any, Any]:
    """Return row, col and data, which may also be given as SciPy does: (data, (row, col)) as `row` alone."""
    if col is None and data is None and _is_coo(row):
        return (*row[1], row[0])
    if col is None or data is None:
        raise TypeError("expected row, col and data, or (data, (row, col))")
    return row, col, data


def _is_coo(x: Any) -> bool:
    return isinstance(x, tuple) and len(x) == 2 and isinstance(x[1], tuple) and len(x[1]) == 2


def _parts_of_matrix(matrix: Any, validate: bool) -> Parts:
    if hasattr(matrix, "stored_shape"):  # one of ours
        B = matrix.tocsr()
        return spanned_entries(Parts(B.data, B.indices, B.indptr, B.shape), KEEP if validate else None)
    if hasattr(matrix, "tocsr"):
        return parts_of_scipy(matrix)
    if hasattr(matrix, "n_batch"):
        return (parts_of_bcsr if hasattr(matrix, "indptr") else parts_of_bcoo)(matrix, validate)
    if hasattr(matrix, "todense"):
        kind = f"{type(matrix).__module__}.{type(matrix).__qualname__}"
        raise TypeError(f"got {kind}; expected BCSR, BCOO or a matrix of SciPy; use matrix.todense()")
    return parts_of_dense(matrix, None)


def _parts_of_csr(A: Any, hint: str | None) -> Parts:
    B = A.tocsr()
    return spanned_entries(Parts(B.repeated_data(), B.indices, B.indptr, B.shape), hint)


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
    count = np.arange(coo.nnz, dtype=counter(coo.nnz))
    # SciPy sorts the numbers of the entries as it sorts the entries.
    numbered = import_module("scipy.sparse").coo_array((count, (coo.row, coo.col)), shape=coo.shape).tocsr()
    if numbered.nnz < coo.nnz:
        raise ValueError(
            f"{coo.nnz - numbered.nnz} of {coo.nnz} entries are duplicates, which SciPy adds up; expected "
            "none with return_order=True; CSR.from_coo((S.data, (S.row, S.col)), shape=S.shape, "
            "return_order=True) of S.tocoo() keeps them"
        )
    return numbered.data


def to_scipy(A: Any) -> Any:
    """Return a `scipy.sparse.csr_array`; floats of 16 bits, which SciPy lacks, become float32.

    Free slots are left out, so that its entries are in the order of `A.tocsr().to_coo()`. Raise ValueError if
    SciPy would read out of bounds.
    """
    parts = _parts_of_csr(A, MEND)
    data = parts.data.astype(summed_in(parts.data))
    data, indices, indptr = map(np.asarray, (data, parts.indices, parts.indptr))
    check_indptr(indptr, indices.size, MEND)
    check_values("indices", indices, ids_in(parts.shape[1], "columns"), MEND)
    return import_module("scipy.sparse").csr_array((data, indices, indptr), shape=parts.shape)


def parts_of_bcoo(matrix: Any, validate: bool = True) -> Parts:
    """Convert a `jax.experimental.sparse.BCOO`; drop its padding if the indices are known."""
    _check_flat(matrix)
    row, col, data = matrix.indices[:, 0], matrix.indices[:, 1], matrix.data
    if is_known(row, col):
        # JAX pads with indices that are as large as the shape.
        inside = np.asarray((row < matrix.shape[0]) & (col < matrix.shape[1]))
        if not inside.all():
            parts = parts_of_coo(row[inside], col[inside], data[inside], matrix.shape, validate)
            return parts._replace(order=numbers(inside.size)[inside][parts.order])
    return parts_of_coo(row, col, data, matrix.shape, validate)


def parts_of_bcsr(matrix: Any, validate: bool = True) -> Parts:
    """Convert a `jax.experimental.sparse.BCSR`; drop its padding if indptr is known."""
    _check_flat(matrix)
    return spanned_entries(
        Parts(matrix.data, matrix.indices, matrix.indptr, matrix.shape), KEEP if validate else None
    )


def to_bcsr(A: Any) -> Any:
    """Return a `jax.experimental.sparse.BCSR`, without free slots where the structure is known."""
    parts = _parts_of_csr(A, None)
    return import_module("jax.experimental.sparse").BCSR(parts[:3], shape=parts.shape)


def _check_flat(matrix: Any) -> None:
    if matrix.n_batch or matrix.n_dense or len(matrix.shape) != 2:
        raise ValueError(
            f"expected a matrix without batch and dense axes, got shape {matrix.shape} with "
            f"n_batch={matrix.n_batch}, n_dense={matrix.n_dense}; convert one matrix at a time"
        )


def parts_of_file(path: Any) -> Parts:
    """Read a Matrix Market file (.mtx, .mtx.gz) or one of `scipy.sparse.save_npz`."""
    kind = _suffix(path, ".npz", ".mtx", ".mtx.gz")
    opened = gzip.open if kind == ".mtx.gz" else open
    with opened(path, "rb") as file:
        if kind == ".npz":
            return parts_of_scipy(import_module("scipy.sparse").load_npz(file))
        mmread = import_module("scipy.io").mmread
        # SciPy warns that its default is about to change, where there is a choice.
        options = {"spmatrix": False} if "spmatrix" in signature(mmread).parameters else {}
        return parts_of_scipy(import_module("scipy.sparse").csr_array(mmread(file, **options)))


def save(A: Any, path: str | os.PathLike[str]) -> None:
    """Write a Matrix Market file (.mtx), or a .npz that `scipy.sparse.load_npz` reads; no free slots.

    A .npz keeps entries in the order of `A.tocsr().to_coo()`. A Matrix Market file does not say which of
    duplicates is which: `CSR.load` adds them up, and sorts entries by row and column.
    """
    kind, matrix = _suffix(path, ".npz", ".mtx"), to_scipy(A)
    with open(path, "wb") as file:
        if kind == ".npz":
            import_module("scipy.sparse").save_npz(file, matrix)
        else:
            import_module("scipy.io").mmwrite(file, matrix.tocoo(), symmetry="general")


def _suffix(path: Any, *suffixes: str) -> str:
    """Return which of the suffixes the name of a file has, in either case; raise ValueError if none."""
    for suffix in suffixes:
        if str(path).lower().endswith(suffix):
            return suffix
    raise ValueError(f"{path} has suffix {Path(path).suffix!r}; expected one of {', '.join(suffixes)}")
