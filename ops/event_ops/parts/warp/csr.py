"""Reading CSR matrices and events whose contents nobody has checked."""

from typing import Any

import warp as wp


@wp.func
def bounded(position: Any, size: wp.int32) -> wp.int32:
    """A position in [0, size]; whatever is outside becomes the end."""
    wide = wp.int64(position)
    if wide < wp.int64(0) or wide > wp.int64(size):
        return size
    return wp.int32(wide)


@wp.func
def place(index: Any, size: wp.int32) -> wp.int32:
    """An index in [0, size), or -1."""
    wide = wp.int64(index)
    if wide < wp.int64(0) or wide >= wp.int64(size):
        return -1
    return wp.int32(wide)


@wp.func
def is_active(event: Any) -> bool:
    """True for True, and for any number but 0, NaN among them."""
    return event != type(event)(0)
