"""The former names of `ffi_bridge.get_operator` and `get_operators`, which warn of their end."""

from __future__ import annotations

import warnings
from typing import Any

from ffi_bridge.operators.lookup import get_operator, get_operators

_NOW = {"get_kernel": get_operator, "get_kernels": get_operators}


def __getattr__(name: str) -> Any:
    if name not in _NOW:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"{__name__}.{name} is now ffi_bridge.{_NOW[name].__name__}; the former name will be removed",
        DeprecationWarning,
        stacklevel=2,
    )
    return _NOW[name]
