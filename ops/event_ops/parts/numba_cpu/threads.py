"""The size of Numba's thread pool, inside kernels."""

from __future__ import annotations

from typing import Any

from numba import get_num_threads, types
from numba.core.typing.templates import signature
from numba.extending import overload

# Numba's own reads it through a pointer from ctypes, which keeps a kernel out of every cache on disk.
_count: Any = types.ExternalFunction("get_num_threads", signature(types.intp))


def num_threads() -> int:
    """How many threads a parallel loop of the calling thread uses."""
    return get_num_threads()


@overload(num_threads, inline="always")
def _num_threads() -> Any:
    return lambda: _count()
