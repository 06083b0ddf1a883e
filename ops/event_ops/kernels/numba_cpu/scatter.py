"""Updates where indices point: how an index becomes a place, and the loop that adds or compares there."""

from typing import Any

import numpy as np
from numba import prange

from event_ops.kernels.numba_cpu.access import at, hoist
from event_ops.kernels.numba_cpu.jit import by_type, is_array, njit
from event_ops.kernels.numba_cpu.split import combine_up, parts_for, private

# The place of an index is where it points: an unsigned number, at least `size` for an update to be dropped.


@njit
def plain(index: Any, size: Any) -> Any:
    """Return the place of an index where none counts from the end."""
    return np.uintp(index)


@njit
def plain_nearest(index: Any, size: Any) -> Any:
    """Return the place of an index as `plain` does, or the nearest end for one out of range."""
    if index < 0:
        return np.uintp(0)
    return min(np.uintp(index), size - np.uintp(1))


@njit
def counted(index: Any, size: Any) -> Any:
    """Return the place of an index where negative ones count from the end."""
    place = np.uintp(index)
    if place >= size and index < 0:
        return place + size
    return place


@njit
def counted_nearest(index: Any, size: Any) -> Any:
    """Return the place of an index as `counted` does, or the nearest end for one out of range."""
    place = counted(index, size)
    if place < size:
        return place
    return plain_nearest(index, size)


@njit
def refuse_outside(indices: Any, size: int, place: Any) -> None:
    """Raise IndexError unless every index has a place below `size`."""
    good = True
    for k in range(np.uintp(indices.size)):
        good &= place(indices[k], np.uintp(size)) < np.uintp(size)
    if not good:
        raise IndexError("an index is out of range, and mode='error' asks to be told")


@by_type
def combine_at(y: Any, j: Any, updates: Any, k: Any, combine: Any) -> Any:
    """y[j] = combine(y[j], updates[k]), for elements and for rows."""

    def element(y: Any, j: Any, updates: Any, k: Any, combine: Any) -> None:
        y[j] = combine(y[j], at(updates, k))

    def row(y: Any, j: Any, updates: Any, k: Any, combine: Any) -> None:
        for c in range(np.uintp(y.shape[1])):
            y[j, c] = combine(y[j, c], updates[k, c])

    def same_row(y: Any, j: Any, updates: Any, k: Any, combine: Any) -> None:
        for c in range(np.uintp(y.shape[1])):
            y[j, c] = combine(y[j, c], updates)

    return element if y.ndim == 1 else row if is_array(updates) else same_row


# Inlined: as an argument, a function is an address, which keeps a kernel out of the cache on disk.
@njit(forceinline=True)
def scatter(y: Any, indices: Any, updates: Any, low: int, high: int, place: Any, combine: Any) -> None:
    """Combine the updates from `low` to `high` with the values at the places of their indices."""
    hoisted = hoist(updates)
    size = np.uintp(y.shape[0])
    for k in range(np.uintp(low), np.uintp(high)):
        j = place(indices[k], size)
        if j < size:
            combine_at(y, j, hoisted, k, combine)


# Inlined, since only the parallel regions of a kernel itself are entered without the GIL.
@njit(inline="always")
def scatter_parallel(y: Any, indices: Any, updates: Any, place: Any, combine: Any, neutral: Any) -> None:
    """`scatter` of all updates on all threads, each into a private array that begins as `neutral`."""
    parts = parts_for(indices.size, y.shape[0])
    spare = np.empty((parts - 1, *y.shape), y.dtype)
    for part in prange(parts):
        mine = private(y, spare, part)
        if part > 0:
            mine[:] = neutral
        low, high = indices.size * part // parts, indices.size * (part + 1) // parts
        scatter(mine, indices, updates, low, high, place, combine)
    combine_up(spare, y, combine)
