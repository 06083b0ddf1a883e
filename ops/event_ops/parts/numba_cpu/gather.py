"""Gathering through a CSR matrix: the sum of a row's weights, each times what its index points at.

Four sums at once, so that no addition waits for the one before, and scalar loads: from a plain loop LLVM
makes gather instructions, which take several times as long on many processors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from event_ops.parts.numba_cpu.access import at, hoist
from event_ops.parts.numba_cpu.jit import njit
from event_ops.parts.numba_cpu.prefetch import is_far, prefetch_stream, prefetch_targets

Function = Callable[[Any, Any], Any]

_1, _2, _3, _4 = (np.uintp(n) for n in range(1, 5))


@cache
def row_sum_with(times: Function, value_at: Function) -> Any:
    """Return the kernel that sums times(weight k, value_at(values, indices[k])) over entries `k` to `end`."""

    @njit(_nrt=False, forceinline=True)
    def term(weights: Any, indices: Any, values: Any, size: Any, k: Any, zero: Any) -> Any:
        j = np.uintp(indices[k])
        return times(at(weights, k), value_at(values, j)) if j < size else zero

    # Inlined without reference counts, which would take longer than a short row. The last three entries have
    # no loop, since its end would be mispredicted in most rows.
    @njit(fastmath={"contract"}, _nrt=False, forceinline=True)
    def row_sum(weights: Any, indices: Any, values: Any, size: Any, k: Any, end: Any, zero: Any) -> Any:
        a = b = c = d = zero
        while k + _4 <= end:
            a += term(weights, indices, values, size, k, zero)
            b += term(weights, indices, values, size, k + _1, zero)
            c += term(weights, indices, values, size, k + _2, zero)
            d += term(weights, indices, values, size, k + _3, zero)
            k += _4
        if k < end:
            a += term(weights, indices, values, size, k, zero)
        if k + _1 < end:
            b += term(weights, indices, values, size, k + _1, zero)
        if k + _2 < end:
            c += term(weights, indices, values, size, k + _2, zero)
        return (a + b) + (c + d)

    return row_sum


@cache
def gather_rows_with(times: Function, value_at: Function) -> Any:
    """Return the kernel `y[i] = row_sum(...)` of row i, for the rows from `low` to `high`.

    It takes the number of columns, which differs from values.size where values are packed bits.
    """
    row_sum = row_sum_with(times, value_at)

    @njit
    def gather_rows(
        data: Any, indices: Any, indptr: Any, values: Any, size: int, y: Any, low: int, high: int
    ) -> None:
        weights, nse, zero = hoist(data), np.uintp(indices.size), y.dtype.type(0)
        columns, streamed = np.uintp(size), is_far(indices)
        far = is_far(values) and np.uintp(values.size) == columns  # packed bits have other positions
        for i in range(np.uintp(low), np.uintp(high)):
            begin, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + _1]), nse)
            if streamed:
                prefetch_stream(weights, indices, begin, end)
            if far:
                prefetch_targets(values, indices, begin, end)
            y[i] = row_sum(weights, indices, values, columns, begin, end, zero)

    return gather_rows
