"""Slots of a ring."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.parts.numba_cpu.jit import njit


@njit
def slot_now(slot: Any, slots: Any) -> Any:
    """The current slot: any integer, modulo the number of slots."""
    return np.uintp(np.int64(slot[()]) % np.int64(slots))
