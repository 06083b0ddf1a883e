"""A matrix of words times a vector on the CPU: a gather of rows, or for the transpose a scatter of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.parts.numba_cpu.jit import njit, num_threads
from event_ops.parts.numba_cpu.split import MIN_PARALLEL, add_up, first_row, parts_for, private
from event_ops.parts.numba_cpu.words import gather_words, scatter_words
from ffi_bridge import numba_kernel


@njit
def matvec(entries: Any, indptr: Any, scale: Any, v: Any, y: Any) -> None:
    gather_words(entries, indptr, scale, v, y, 0, indptr.size - 1)


@njit(parallel=True)
def matvec_parallel(entries: Any, indptr: Any, scale: Any, v: Any, y: Any) -> None:
    parts = num_threads()
    for part in prange(parts):
        low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)
        gather_words(entries, indptr, scale, v, y, low, high)


@njit
def matvec_transposed(entries: Any, indptr: Any, scale: Any, v: Any, y: Any) -> None:
    y[:] = 0
    scatter_words(entries, indptr, scale, v, y, 0, indptr.size - 1)


@njit(parallel=True)
def matvec_transposed_parallel(entries: Any, indptr: Any, scale: Any, v: Any, y: Any) -> None:
    parts = parts_for(entries.size, y.size)
    spare = np.empty((parts - 1, y.size), y.dtype)
    for part in prange(parts):
        mine = private(y, spare, part)
        mine[:] = 0
        low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)
        scatter_words(entries, indptr, scale, v, mine, low, high)
    add_up(spare, y)


KERNELS = (matvec, matvec_parallel), (matvec_transposed, matvec_transposed_parallel)  # [transpose][large]


def build(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many entries."""

    def call(entries: Any, indptr: Any, scale: Any, v: Any) -> Any:
        kernel = KERNELS[transpose][reaches(entries.size, MIN_PARALLEL)]
        return numba_kernel(kernel, outs)(entries, indptr, scale, v)

    return call
