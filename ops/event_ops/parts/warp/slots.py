"""Slots of a ring buffer."""

from typing import Any

import warp as wp


@wp.func
def slot_now(slot: wp.array(dtype=Any), slots: wp.int32) -> wp.int32:
    """The current slot: any integer, modulo the number of slots."""
    size = wp.int64(slots)
    rest = wp.int64(slot[0]) % size  # of the sign of the dividend, as in C
    return wp.int32((rest + size) % size)
