"""CSR matrices in files: Matrix Market, and what `scipy.sparse.save_npz` writes."""

from __future__ import annotations

import gzip
from inspect import signature
from pathlib import Path
from typing import Any

from event_ops.sparse.formats import Parts, loaded, parts_of_scipy, scipy_of_parts


def parts_of_file(path: Any) -> Parts:
    """Read a Matrix Market file (.mtx, .mtx.gz) or one of `scipy.sparse.save_npz`."""
    kind = _kind(path, ".npz", ".mtx", ".mtx.gz")
    opened = gzip.open if kind == ".mtx.gz" else open
    with opened(path, "rb") as file:
        if kind == ".npz":
            return parts_of_scipy(loaded("scipy.sparse").load_npz(file))
        return parts_of_scipy(loaded("scipy.sparse").csr_array(_read_matrix_market(file)))


def _read_matrix_market(file: Any) -> Any:
    mmread = loaded("scipy.io").mmread
    # SciPy warns that its default is about to change, where there is a choice.
    options = {"spmatrix": False} if "spmatrix" in signature(mmread).parameters else {}
    return mmread(file, **options)


def write_file(path: Any, parts: Parts) -> None:
    """The opposite of `parts_of_file`; every value comes back as it was, duplicates in an .npz too."""
    kind, matrix = _kind(path, ".npz", ".mtx"), scipy_of_parts(parts)
    with open(path, "wb") as file:
        if kind == ".npz":
            loaded("scipy.sparse").save_npz(file, matrix)
        else:
            loaded("scipy.io").mmwrite(file, matrix.tocoo(), symmetry="general")


def _kind(path: Any, *suffixes: str) -> str:
    """Return which of the suffixes the name of a file has, in letters of either case, or raise ValueError."""
    for suffix in suffixes:
        if str(path).lower().endswith(suffix):
            return suffix
    raise ValueError(f"{path} has suffix {Path(path).suffix!r}; expected one of {', '.join(suffixes)}")
