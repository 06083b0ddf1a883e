"""What a reduction begins with: the value that changes no other one."""

from __future__ import annotations

from typing import Any

import numpy as np


def neutral(how: str, dtype: Any) -> Any:
    """Return, as a scalar of `dtype`, what "add", "max", "min" or "mul" of nothing is."""
    kind = np.dtype(dtype)
    if how in ("add", "mul"):
        return kind.type(how == "mul")
    low, high = (-np.inf, np.inf) if kind.kind == "f" else (np.iinfo(kind).min, np.iinfo(kind).max)
    return kind.type(low if how == "max" else high)
