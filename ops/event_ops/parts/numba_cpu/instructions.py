"""Instructions of LLVM as functions for kernels, each with what it does in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import config
from numba.extending import intrinsic

_config: Any = config  # its attributes are not declared


def instruction(in_python: Callable[..., Any]) -> Callable[[Any], Any]:
    """Decorate what `numba.extending.intrinsic` takes; with NUMBA_DISABLE_JIT it is `in_python` instead."""
    if _config.DISABLE_JIT:
        return lambda _: in_python
    return intrinsic(prefer_literal=True)
