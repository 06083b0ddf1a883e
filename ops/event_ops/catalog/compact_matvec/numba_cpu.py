"""A matrix of words times a vector on the CPU: a gather of rows, or for the transpose a scatter of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.packed_entries import columns_of, scatter_words
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, add_up, first_row, parts_for, private
from event_ops.kernels.numba_cpu.word_products import gather_all, gather_all_parallel
from ffi_bridge import numba_kernel


@njit(parallel=True)
def matvec_parallel(entries: Any, indptr: Any, scale: Any, v: Any, y: Any) -> None:
    gather_all_parallel(entries, indptr, scale, v, y)


@njit
def matvec_transposed(entries: Any, indptr: Any, scale: Any, v: Any, y: Any) -> None:
    y[:] = 0
    blocks, rows = indptr.shape[0], indptr.shape[1] - 1
    for block in range(blocks):
        scatter_words(entries, indptr[block], scale, v, columns_of(y, block, blocks), 0, rows)


@njit(parallel=True)
def matvec_transposed_parallel(entries: Any, indptr: Any, scale: Any, v: Any, y: Any) -> None:
    blocks = indptr.shape[0]
    for block in range(blocks):
        ends, own = indptr[block], columns_of(y, block, blocks)
        parts = parts_for(entries.size // blocks, own.size)
        spare = np.empty((parts - 1, own.size), y.dtype)
        for part in prange(parts):
            mine = private(own, spare, part)
            mine[:] = 0
            low, high = first_row(ends, part, parts), first_row(ends, part + 1, parts)
            scatter_words(entries, ends, scale, v, mine, low, high)
        add_up(spare, own)


# Blocks are parts of the columns, to which the words of each belong; parts are the work of a thread.
KERNELS = (gather_all, matvec_parallel), (matvec_transposed, matvec_transposed_parallel)  # [transpose][large]


def build(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many entries."""

    def call(entries: Any, indptr: Any, scale: Any, v: Any) -> Any:
        kernel = KERNELS[transpose][reaches(entries.size, MIN_PARALLEL)]
        return numba_kernel(kernel, outs)(entries, indptr.reshape(-1, indptr.shape[-1]), scale, v)

    return call
