"""Numbers below the least normal one, which a GPU keeps, and XLA's threads on a CPU take for 0."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
from collections.abc import Generator
from typing import Final

_C: Final = ctypes.CDLL(ctypes.util.find_library("m"))
_DEFAULT: Final = ctypes.c_void_p(-1)  # FE_DFL_ENV of glibc and musl
_ROOM: Final = 256  # bytes, more than a `fenv_t` of any processor has


@contextlib.contextmanager
def kept_subnormals() -> Generator[None]:
    """Compute with subnormal numbers within the block, in this thread."""
    before = ctypes.create_string_buffer(_ROOM)
    _C.fegetenv(before)
    _C.fesetenv(_DEFAULT)
    try:
        yield
    finally:
        _C.fesetenv(before)
