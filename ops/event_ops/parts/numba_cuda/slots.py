"""Slots of a ring buffer."""

from __future__ import annotations

from typing import Any

from numba import cuda


@cuda.jit(device=True)
def slot_now(slot: Any, slots: Any) -> Any:
    """The current slot: any integer, modulo the number of slots."""
    return slot[()] % slots  # of the sign of the divisor, as in Python
