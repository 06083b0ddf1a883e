"""Compile in turns: processes that start together find in Numba's cache what the first of them compiles."""

import contextlib
import importlib.util
from collections.abc import Generator
from typing import Any

# Windows has none.
fcntl: Any = importlib.import_module("fcntl") if importlib.util.find_spec("fcntl") else None


@contextlib.contextmanager
def compiling() -> Generator[None]:
    """Let other processes that compile wait, where the file system has locks."""
    with open(__file__, "rb") as source:
        if fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(source, fcntl.LOCK_EX)  # until it is closed
        yield
