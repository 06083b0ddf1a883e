"""Changes of the rows of a CSR matrix on the CPU, in place: normalised weights, synapses that move.

Each row is passed twice, and what the second pass writes depends on all of the first: no term of an entry.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at, hoist
from event_ops.kernels.numba_cpu.deliver import MIN_ENTRIES_PARALLEL
from event_ops.kernels.numba_cpu.jit import njit, num_threads
from event_ops.kernels.numba_cpu.random_numbers import philox2x32
from event_ops.kernels.numba_cpu.sparse_visits import entry, is_stored, prefetch_entries, visiting
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, first_row
from event_ops.kernels.reference.row_changes import ATTEMPTS
from ffi_bridge import numba_kernel


@cache
def normalizing(subtractive: bool) -> Any:
    """Return the function that normalises some rows; `variables` are the targets."""

    @njit(_nrt=False)
    def normalize_rows(
        synapses: Any, indices: Any, indptr: Any, places: Any, columns: Any, variables: Any, ids: Any
    ) -> None:
        (w,), (target,), (_, size) = synapses, variables, columns  # those of a whole matrix
        nse = np.uintp(indices.size)
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
def normalize_kernel(large: bool, subtractive: bool, permuted: bool) -> Any:
    """Return the kernel for one thread, or for all threads.

    data and y are the same memory; XLA copies data first where it is needed again.
    """
    visit = visiting(normalizing(subtractive), large)

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


def csr_normalize(*, outs: Any, subtractive: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many entries."""

    def call(data: Any, indices: Any, indptr: Any, target: Any, active: Any, limit: Any, *places: Any) -> Any:
        large = reaches(data.size, MIN_ENTRIES_PARALLEL)
        chosen = normalize_kernel(large, subtractive, bool(places))
        run = numba_kernel(chosen, outs, input_output_aliases={0: 0})
        return run(data, indices, indptr, target, active, limit, *places)

    return call


_WORD: Final = np.uint64(32)


@njit(_nrt=False)
def is_taken(y: Any, begin: Any, end: Any, j: Any) -> Any:
    """Return whether one of the slots from `begin` to `end` has column j."""
    taken, column = False, y.dtype.type(j)
    for k in range(begin, end):
        taken |= y[k] == column
    return taken


@cache
def rewiring(autapses: bool, multapses: bool) -> Any:
    """Return the function that rewires the rows from `low` to `high`."""

    @njit(_nrt=False)
    def may_have(y: Any, begin: Any, end: Any, i: Any, j: Any, size: Any) -> Any:
        if j >= size or (not autapses and j == i):
            return False
        return multapses or not is_taken(y, begin, end, j)

    @njit(_nrt=False)
    def rewire_rows(
        indptr: Any, rewired: Any, seed: Any, step: Any, size: Any, targets: Any, y: Any, low: Any, high: Any
    ) -> None:
        nse, free = np.uintp(y.size), y.dtype.type(size)
        for i in range(np.uintp(low), np.uintp(high)):
            begin, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)
            # All are freed first: a synapse may move to where another one of its row was.
            for k in range(begin, end):
                if rewired[k]:
                    y[k] = free
            for k in range(begin, end):
                if rewired[k] and targets.size:
                    if may_have(y, begin, end, i, np.uintp(targets[k]), size):
                        y[k] = targets[k]
                elif rewired[k]:
                    x, z = np.uint64(k) & np.uint64(0xFFFFFFFF), np.uint64(step)
                    for _ in range(ATTEMPTS):
                        # Each attempt goes on from the words of the last.
                        x, z = philox2x32(x, z, seed)
                        # The upper word of the product is uniform below `size`, without a division.
                        j = np.uintp(x * np.uint64(size) >> _WORD)
                        if may_have(y, begin, end, i, j, size):
                            y[k] = j
                            break

    return rewire_rows


@cache
def rewire_kernel(large: bool, autapses: bool, multapses: bool) -> Any:
    """Return the kernel for one thread, or for all.

    indices and y are the same memory; XLA copies indices first where they are needed again.
    """
    rewire_rows = rewiring(autapses, multapses)

    @njit(parallel=large)
    def csr_rewire(
        indices: Any, indptr: Any, rewired: Any, seed: Any, step: Any, columns: Any, targets: Any, y: Any
    ) -> None:
        words = hoist(seed), hoist(step), np.uintp(hoist(columns))
        parts = num_threads() if large else 1
        for part in prange(parts):
            low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)
            rewire_rows(indptr, rewired, *words, targets, y, low, high)

    return csr_rewire


def csr_rewire(*, outs: Any, autapses: bool, multapses: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many slots."""
    large = reaches(outs.size, MIN_PARALLEL)
    return numba_kernel(rewire_kernel(large, autapses, multapses), outs, input_output_aliases={0: 0})
