"""Several threads of a warp that share one row and add up what they find."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.cuda_parts.launch import FULL, WARP

ENTRIES_PER_LANE = 4  # fewer leave threads idle, more leave memory accesses apart


def lanes_for(entries: int, rows: int, dtype: Any) -> int:
    """How many threads take one row: a power of two that suits their mean length; one without shuffles."""
    kind = np.dtype(dtype)
    if kind.kind in "cu" or kind.itemsize < 4:
        return 1
    wanted = entries // max(1, rows * ENTRIES_PER_LANE)
    return min(WARP, 1 << max(0, wanted - 1).bit_length())


@cuda.jit(device=True)
def sum_up_to(value: Any) -> Any:
    """The sum of a 32-bit integer over this lane and those before it; every lane of a warp comes here."""
    total, offset = np.int32(value), 1
    while offset < WARP:
        before = cuda.shfl_up_sync(FULL, total, offset)
        if cuda.laneid >= offset:
            total = np.int32(total + before)
        offset *= 2
    return total


@cache
def sum_over(lanes: int) -> Any:
    """The device function that gives each of `lanes` neighbouring threads the sum of their values."""

    if lanes == 1:
        return cuda.jit(device=True)(lambda value: value)

    @cuda.jit(device=True)
    def total_of(value: Any) -> Any:
        offset = lanes // 2
        while offset > 0:
            value += cuda.shfl_xor_sync(FULL, value, offset)
            offset //= 2
        return value

    return total_of
