"""CSR matrices in files: Matrix Market, and what `scipy.sparse.save_npz` writes."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

from event_ops.csr_formats import Parts, loaded, parts_of_scipy, scipy_of_parts


def parts_of_file(path: Any) -> Parts:
    """What a Matrix Market file (.mtx, .mtx.gz) or one of `scipy.sparse.save_npz` holds."""
    name = str(Path(path))
    if name.endswith(".npz"):
        return parts_of_scipy(loaded("scipy.sparse").load_npz(name))
    if name.endswith((".mtx", ".mtx.gz")):
        return parts_of_scipy(loaded("scipy.sparse").csr_array(_read_matrix_market(name)))
    raise ValueError(f"{name} has suffix {Path(path).suffix!r}; expected .mtx, .mtx.gz or .npz")


def _read_matrix_market(name: str) -> Any:
    mmread = loaded("scipy.io").mmread
    # SciPy warns that its default is about to change, where there is a choice.
    options = {"spmatrix": False} if "spmatrix" in signature(mmread).parameters else {}
    return mmread(name, **options)


def write_file(path: Any, parts: Parts) -> None:
    """The opposite of `parts_of_file`; every value comes back as it was, duplicates in an .npz too."""
    name = str(Path(path))
    if name.endswith(".npz"):
        loaded("scipy.sparse").save_npz(name, scipy_of_parts(parts))
    elif name.endswith(".mtx"):
        loaded("scipy.io").mmwrite(name, scipy_of_parts(parts).tocoo(), symmetry="general")
    else:
        raise ValueError(f"{name} has suffix {Path(path).suffix!r}; expected .mtx or .npz")
