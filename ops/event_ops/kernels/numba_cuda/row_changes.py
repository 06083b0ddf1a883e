"""Changes of the rows of a CSR matrix on a GPU, in place: a warp normalises a row, a thread rewires one."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import at, bounded, is_active, is_inside, place
from event_ops.kernels.numba_cuda.plasticity import given_place, own_place
from event_ops.kernels.numba_cuda.random_numbers import philox2x32
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import WARP, sum_over
from event_ops.kernels.reference.row_changes import ATTEMPTS
from ffi_bridge import numba_cuda_kernel

total_of = sum_over(WARP)
count_of = sum_over(WARP, kind="i")


@cache
def normalize_kernel(subtractive: bool, place_of: Any) -> Any:
    """Return the kernel; data and w are the same memory."""

    @cuda.jit
    def csr_normalize(
        data: Any, indices: Any, indptr: Any, target: Any, active: Any, limit: Any, places: Any, w: Any
    ) -> None:
        i, lane = cuda.grid(1) // WARP, cuda.grid(1) % WARP
        if i < active.size and is_active(active[i]):
            low, high = csr_row(indptr, i, w.size)
            mine, met = w.dtype.type(0), np.int32(0)
            for p in range(low + lane, high, WARP):
                k = place_of(places, p, w.size)
                if is_inside(indices[p], limit[()]) and k >= 0:
                    mine += w[k] if subtractive else abs(w[k])
                    met += np.int32(1)
            total, count = total_of(mine), count_of(met)
            # Of weights that are all 0 there is nothing to multiply; NaN shows.
            if count and (subtractive or total != 0):
                goal = at(target, i)
                share = (goal - total) / w.dtype.type(count) if subtractive else goal / total
                for p in range(low + lane, high, WARP):
                    k = place_of(places, p, w.size)
                    if is_inside(indices[p], limit[()]) and k >= 0:
                        w[k] = w[k] + share if subtractive else w[k] * share

    return csr_normalize


def csr_normalize(*, outs: Any, subtractive: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays."""

    def call(data: Any, indices: Any, indptr: Any, target: Any, active: Any, limit: Any, *places: Any) -> Any:
        chosen = normalize_kernel(subtractive, given_place if places else own_place)
        dims = active.size * WARP
        run = numba_cuda_kernel(chosen, outs, launch_dims=dims, input_output_aliases={0: 0})
        return run(data, indices, indptr, target.reshape(-1), active, limit, *(places or (indices,)))

    return call


_WORD: Final = np.uint64(32)


@cache
def rewire_kernel(autapses: bool, multapses: bool) -> Any:
    """Return the kernel; indices and y are the same memory."""

    @cuda.jit(device=True)
    def may_have(y: Any, begin: Any, end: Any, i: Any, j: Any) -> Any:
        if j < 0 or (not autapses and j == i):
            return False
        if not multapses:
            for k in range(begin, end):
                if y[k] == j:
                    return False
        return True

    @cuda.jit
    def csr_rewire(
        indices: Any, indptr: Any, rewired: Any, seed: Any, step: Any, columns: Any, targets: Any, y: Any
    ) -> None:
        i, size = cuda.grid(1), np.int64(columns[()])
        if i < indptr.size - 1:
            begin, end = bounded(indptr[i], y.size), bounded(indptr[i + 1], y.size)
            # All are freed first: a synapse may move to where another one of its row was.
            for k in range(begin, end):
                if rewired[k]:
                    y[k] = size
            for k in range(begin, end):
                if rewired[k] and targets.size:
                    j = place(targets[k], size)
                    if may_have(y, begin, end, i, j):
                        y[k] = j
                elif rewired[k]:
                    x, z = np.uint64(np.uint32(k)), np.uint64(step[()])
                    for _ in range(ATTEMPTS):
                        # Each attempt goes on from the words of the last.
                        x, z = philox2x32(x, z, seed[()])
                        j = place(x * np.uint64(size) >> _WORD, size)
                        if may_have(y, begin, end, i, j):
                            y[k] = j
                            break

    return csr_rewire


def csr_rewire(*, outs: Any, autapses: bool, multapses: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays."""

    def call(indices: Any, indptr: Any, *others: Any) -> Any:
        rows = indptr.size - 1
        chosen = rewire_kernel(autapses, multapses)
        run = numba_cuda_kernel(chosen, outs, launch_dims=rows, input_output_aliases={0: 0})
        return run(indices, indptr, *others)

    return call
