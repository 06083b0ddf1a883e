"""Reading parameters, positions and events whose contents nobody has checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda


@cuda.jit(device=True)
def at(x: Any, i: Any) -> Any:
    """Element i; an array of one element holds it for all."""
    return x[i] if x.size > 1 else x[0]


@cuda.jit(device=True)
def bounded(position: Any, size: Any) -> Any:
    """A position in [0, size]; whatever is outside becomes the end."""
    if position < 0 or position > size:
        return np.int64(size)
    return np.int64(position)


@cuda.jit(device=True)
def place(index: Any, size: Any) -> Any:
    """An index in [0, size), or -1."""
    if index < 0 or index >= size:
        return np.int64(-1)
    return np.int64(index)


@cuda.jit(device=True)
def is_active(event: Any) -> Any:
    """True for True, and for any number but 0, NaN among them."""
    return event != 0
