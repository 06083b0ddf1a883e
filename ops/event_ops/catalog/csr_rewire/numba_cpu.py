"""Rewiring on the CPU: row by row, one slot after the other, in place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from numba import prange

from event_ops.catalog.csr_rewire.reference import ATTEMPTS
from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import hoist
from event_ops.kernels.numba_cpu.jit import njit, num_threads
from event_ops.kernels.numba_cpu.random_numbers import philox2x32
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, first_row
from ffi_bridge import numba_kernel

_WORD: Final = np.uint64(32)


@njit(_nrt=False)
def is_taken(y: Any, begin: Any, end: Any, j: Any) -> Any:
    """Return whether one of the slots from `begin` to `end` has column j."""
    taken, column = False, y.dtype.type(j)
    for k in range(begin, end):
        taken |= y[k] == column
    return taken


@cache
def rows_with(autapses: bool, multapses: bool) -> Any:
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
                        x, z = philox2x32(x, z, seed)
                        j = np.uintp(x * np.uint64(size) >> _WORD)
                        if may_have(y, begin, end, i, j, size):
                            y[k] = j
                            break

    return rewire_rows


@cache
def kernel(large: bool, autapses: bool, multapses: bool) -> Any:
    """Return the kernel for one thread, or for all.

    indices and y are the same memory; XLA copies indices first where they are needed again.
    """
    rewire_rows = rows_with(autapses, multapses)

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


def build(*, outs: Any, autapses: bool, multapses: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many slots."""
    large = reaches(outs.size, MIN_PARALLEL)
    return numba_kernel(kernel(large, autapses, multapses), outs, input_output_aliases={0: 0})
