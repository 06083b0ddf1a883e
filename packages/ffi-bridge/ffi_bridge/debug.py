"""The debug mode of native kernels on CPUs: `FFI_BRIDGE_DEBUG=1` in the environment of the process.

Every output is then filled with NaN, or with -1, before its kernel runs, so that what it leaves unwritten
shows, and lies between canaries: a kernel that writes up to 64 bytes beside an output ends with an error that
names both. An output that shares its memory with an input is left as it is. It costs a copy of every output;
Numba's own check of every index is `NUMBA_BOUNDSCHECK=1`.
"""

from __future__ import annotations

import functools
import os
from typing import Final

VARIABLE: Final = "FFI_BRIDGE_DEBUG"


@functools.cache
def is_on() -> bool:
    """Whether handlers that are made now guard their outputs; the same for the life of the process."""
    return os.environ.get(VARIABLE, "") not in ("", "0")
