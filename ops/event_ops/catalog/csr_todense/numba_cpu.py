"""CSR to dense on the CPU: every row is cleared, then its entries are added; threads share the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at, hoist
from event_ops.kernels.numba_cpu.jit import njit, num_threads
from event_ops.kernels.numba_cpu.split import first_row
from ffi_bridge import numba_kernel

# Below this many elements to clear or add to, one thread is done before all have started.
MIN_PARALLEL = 1 << 17


@njit
def fill_rows(data: Any, indices: Any, indptr: Any, D: Any, low: int, high: int) -> None:
    """D[i] = the entries of row i, added up by column, for the rows from `low` to `high`."""
    weights = hoist(data)
    nse, columns = np.uintp(indices.size), np.uintp(D.shape[1])
    for i in range(np.uintp(low), np.uintp(high)):
        row = D[i]
        row[:] = 0
        for k in range(min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)):
            j = np.uintp(indices[k])
            if j < columns:
                row[j] += at(weights, k)


@njit
def todense(data: Any, indices: Any, indptr: Any, D: Any) -> None:
    fill_rows(data, indices, indptr, D, 0, D.shape[0])


@njit(parallel=True)
def todense_parallel(data: Any, indices: Any, indptr: Any, D: Any) -> None:
    parts = num_threads()
    for part in prange(parts):
        low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)
        fill_rows(data, indices, indptr, D, low, high)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many elements."""

    def call(data: Any, indices: Any, indptr: Any) -> Any:
        large = reaches(outs.size + indices.size, MIN_PARALLEL)
        return numba_kernel(todense_parallel if large else todense, outs)(data, indices, indptr)

    return call
