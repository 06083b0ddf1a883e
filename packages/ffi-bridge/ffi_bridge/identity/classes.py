"""Tell classes apart by parts that compiled code can read: members, fields, or the file of a definition."""

import enum
import functools
import hashlib
import os
import sys
from pathlib import Path
from typing import Any, Final, cast

# `operator.mul` and the like have `_operator` as their module.
LIBRARIES: Final = {"builtins", "math", "cmath", "operator", "_operator", "numpy", "numba", "llvmlite"}


def is_numba_type(value: object) -> bool:
    """Return whether `value` is a type of Numba's, as arrays have."""
    return any(c.__name__ == "Type" and c.__module__.startswith("numba.") for c in type(value).__mro__)


def is_library_name(value: object) -> bool:
    """Return whether `value` is of a library that Numba knows by name, not by its Python code."""
    root = str(getattr(value, "__module__", None)).partition(".")[0]
    named = isinstance(getattr(value, "__qualname__", None), str)
    return named and root in LIBRARIES


def is_of_python(kind: type) -> bool:
    """Return whether a class and its bases are written in files of Python: instances have no other state."""
    modules = (sys.modules.get(base.__module__) for base in kind.__mro__[:-1])
    paths = [str(getattr(module, "__file__", None)) for module in modules]
    return bool(paths) and all(path.endswith(".py") for path in paths)


def definition_of(kind: type) -> object | None:
    """Return the part of a class that compiled code can read, or None for an unknown kind of class."""
    if issubclass(kind, enum.Enum):
        return [(member.name, member.value) for member in kind]
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return cast(Any, kind)._fields
    if issubclass(kind, BaseException):
        return ()
    # A Numba type depends on its data model, which is defined in the same file.
    path = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if path is None or "<locals>" in kind.__qualname__ or not os.path.isfile(path):
        return None
    status = os.stat(path)
    return _hash_of_file(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(4096)
def _hash_of_file(path: str, changed: int, size: int) -> bytes:
    """Return the hash of a file that was `changed` then: many classes may stand in one."""
    return hashlib.blake2b(Path(path).read_bytes(), digest_size=16).digest()
