"""Files of sparse matrices: Matrix Market, and SciPy's .npz."""

from __future__ import annotations

import gzip
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from event_ops.sparse.convert import Parts, parts_of_scipy, scipy_of


def parts_of_file(path: Any) -> Parts:
    """Read a Matrix Market file (.mtx, .mtx.gz) or one of `scipy.sparse.save_npz`."""
    kind = _suffix(path, ".npz", ".mtx", ".mtx.gz")
    opened = gzip.open if kind == ".mtx.gz" else open
    with opened(path, "rb") as file:
        if kind == ".npz":
            return parts_of_scipy(import_module("scipy.sparse").load_npz(file))
        return parts_of_scipy(import_module("scipy.sparse").csr_array(_read_matrix_market(file)))


def _read_matrix_market(file: Any) -> Any:
    mmread = import_module("scipy.io").mmread
    # SciPy warns that its default is about to change, where there is a choice.
    options = {"spmatrix": False} if "spmatrix" in signature(mmread).parameters else {}
    return mmread(file, **options)


def write_file(path: Any, A: Any) -> None:
    """Write a file that `parts_of_file` reads, with every value as it is; .npz files keep duplicates too."""
    kind, matrix = _suffix(path, ".npz", ".mtx"), scipy_of(A)
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
