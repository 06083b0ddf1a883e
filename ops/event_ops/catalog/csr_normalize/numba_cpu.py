"""Normalising rows on the CPU: those that are active, each summed and then changed, in place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at, hoist
from event_ops.kernels.numba_cpu.deliver import MIN_ENTRIES_PARALLEL
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.sparse_visits import entry, is_stored, prefetch_entries, visiting
from ffi_bridge import numba_kernel


@cache
def rows_with(subtractive: bool) -> Any:
    """Return the function that normalises some rows; `variables` are the targets."""

    @njit(_nrt=False)
    def normalize_rows(
        synapses: Any, indices: Any, indptr: Any, places: Any, limit: Any, variables: Any, ids: Any
    ) -> None:
        (w,), (target,) = synapses, variables
        nse, size = np.uintp(indices.size), np.uintp(limit)
        for position in range(np.uintp(ids.size)):
            prefetch_entries(w, indices, indptr, places, ids, position)
            i = np.uintp(ids[position])
            begin, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)
            total, count = w.dtype.type(0), 0
            for p in range(begin, end):
                k = entry(places, p)
                if np.uintp(indices[p]) < size and is_stored(places, k, nse):
                    total += w[k] if subtractive else abs(w[k])
                    count += 1
            # Of weights that are all 0 there is nothing to multiply; NaN shows.
            if count and (subtractive or total != 0):
                goal = at(target, i)
                share = (goal - total) / w.dtype.type(count) if subtractive else goal / total
                for p in range(begin, end):
                    k = entry(places, p)
                    if np.uintp(indices[p]) < size and is_stored(places, k, nse):
                        w[k] = w[k] + share if subtractive else w[k] * share

    return normalize_rows


@cache
def kernel(large: bool, subtractive: bool, permuted: bool) -> Any:
    """Return the kernel for one thread, or for all threads.

    data and y are the same memory; XLA copies data first where it is needed again.
    """
    visit = visiting(rows_with(subtractive), large)

    if permuted:

        @njit(parallel=large)
        def csr_normalize(
            data: Any, indices: Any, indptr: Any, target: Any, active: Any, limit: Any, places: Any, y: Any
        ) -> None:
            visit((y,), indices, indptr, places, active, hoist(limit), (hoist(target),))

    else:

        @njit(parallel=large)
        def csr_normalize(
            data: Any, indices: Any, indptr: Any, target: Any, active: Any, limit: Any, y: Any
        ) -> None:
            visit((y,), indices, indptr, None, active, hoist(limit), (hoist(target),))

    return csr_normalize


def build(*, outs: Any, subtractive: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many entries."""

    def call(data: Any, indices: Any, indptr: Any, target: Any, active: Any, limit: Any, *places: Any) -> Any:
        large = reaches(data.size, MIN_ENTRIES_PARALLEL)
        chosen = kernel(large, subtractive, bool(places))
        run = numba_kernel(chosen, outs, input_output_aliases={0: 0})
        return run(data, indices, indptr, target, active, limit, *places)

    return call
