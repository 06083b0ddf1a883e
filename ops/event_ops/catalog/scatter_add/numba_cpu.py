"""Scatter-add on the CPU: serial for few updates, private sums per thread for many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, prange, types
from numba.extending import overload

from event_ops.numba_parts.access import at, hoist
from event_ops.numba_parts.split import MIN_PARALLEL, add_up, parts_for, private
from ffi_bridge import numba_kernel


def add_at(sums: Any, j: Any, updates: Any, k: Any) -> None:
    """sums[j] += updates[k], for elements and for rows."""
    sums[j] += updates[k] if np.ndim(updates) else updates


@overload(add_at, strict=False)
def _add_at(sums: Any, j: Any, updates: Any, k: Any) -> Any:
    if sums.ndim == 1:

        def element(sums: Any, j: Any, updates: Any, k: Any) -> None:
            sums[j] += at(updates, k)

        return element
    if isinstance(updates, types.Array):

        def row(sums: Any, j: Any, updates: Any, k: Any) -> None:
            for c in range(np.uintp(sums.shape[1])):
                sums[j, c] += updates[k, c]

        return row

    def same_row(sums: Any, j: Any, updates: Any, k: Any) -> None:
        for c in range(np.uintp(sums.shape[1])):
            sums[j, c] += updates

    return same_row


@njit
def scatter(sums: Any, indices: Any, updates: Any, low: int, high: int) -> None:
    """Add the updates from `low` to `high`; negative indices count from the end, others out of range drop."""
    hoisted = hoist(updates)
    size = np.uintp(sums.shape[0])
    for k in range(np.uintp(low), np.uintp(high)):
        j = np.uintp(indices[k])
        if j >= size and indices[k] < 0:
            j += size
        if j < size:
            add_at(sums, j, hoisted, k)


# target and y are the same memory; XLA copies target first where it is needed again.
@njit
def scatter_add(target: Any, indices: Any, updates: Any, y: Any) -> None:
    scatter(y, indices, updates, 0, indices.size)


@njit(parallel=True)
def scatter_add_parallel(target: Any, indices: Any, updates: Any, y: Any) -> None:
    parts = parts_for(indices.size, y.shape[0])
    spare = np.empty((parts - 1, *y.shape), y.dtype)
    for part in prange(parts):
        mine = private(y, spare, part)
        if part > 0:
            mine[:] = 0
        scatter(mine, indices, updates, indices.size * part // parts, indices.size * (part + 1) // parts)
    add_up(spare, y)


def generator(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """The callable; the number of indices decides between one thread and all."""

    def call(target: Any, indices: Any, updates: Any) -> Any:
        kernel = scatter_add if indices.size < MIN_PARALLEL else scatter_add_parallel
        return numba_kernel(kernel, outs, input_output_aliases={0: 0})(target, indices, updates)

    return call
