"""Changes of the rows of a CSR matrix on a GPU, in place: a warp normalises or rewires a row."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import at, is_active, is_inside, place
from event_ops.kernels.numba_cuda.plasticity import given_place, own_place
from event_ops.kernels.numba_cuda.random_numbers import philox2x32
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import FULL, WARP, lanes_where, sum_over
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
        """Return whether row i may have column j, too; all lanes of a warp call it."""
        if j < 0 or (not autapses and j == i):
            return False
        is_entry = False
        if not multapses:
            k = np.uint64(begin + cuda.laneid)
            while k < np.uint64(end):
                is_entry |= y[k] == j
                k += np.uint64(WARP)
        return not cuda.any_sync(FULL, is_entry)

    @cuda.jit(device=True)
    def drawn(words: Any, seed: Any, size: Any) -> Any:
        """Return the next words, which encrypt the last, and the column that they choose."""
        x, z = philox2x32(*words, seed)
        return (x, z), place(x * np.uint64(size) >> _WORD, size)

    @cuda.jit
    def csr_rewire(
        indices: Any, indptr: Any, rewired: Any, seed: Any, step: Any, columns: Any, targets: Any, y: Any
    ) -> None:
        i, lane, size = cuda.grid(1) // WARP, cuda.laneid, np.int64(columns[()])
        if i >= indptr.size - 1:
            return
        begin, end = csr_row(indptr, i, y.size)
        # All are freed first: a synapse may move to where another one of its row was.
        for k in range(begin + lane, end, WARP):
            if rewired[np.uint64(k)]:
                y[np.uint64(k)] = size
        cuda.syncwarp()
        for first in range(begin, end, WARP):
            k, words, j = first + lane, (np.uint64(0), np.uint64(0)), np.int64(-1)
            mine = k < end and rewired[np.uint64(min(k, end - 1))]
            # Each lane chooses a column for its own slot. Then the warp looks at one slot after the other.
            if mine and targets.size:
                j = place(targets[np.uint64(k)], size)
            elif mine:
                words = np.uint64(np.uint32(k)), np.uint64(step[()])
                words, j = drawn(words, seed[()], size)
            waiting, attempts = lanes_where(mine), 1
            while waiting:
                slot = cuda.ffs(waiting) - 1
                chosen = cuda.shfl_sync(FULL, j, slot)
                fits = may_have(y, begin, end, i, chosen)
                if fits and lane == slot:
                    y[np.uint64(k)] = chosen
                cuda.syncwarp()
                if fits or targets.size or attempts == ATTEMPTS:
                    waiting, attempts = waiting & (waiting - np.uint32(1)), 1
                else:
                    attempts += 1
                    if lane == slot:
                        words, j = drawn(words, seed[()], size)

    return csr_rewire


def csr_rewire(*, outs: Any, autapses: bool, multapses: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays."""

    def call(indices: Any, indptr: Any, *others: Any) -> Any:
        dims = (indptr.size - 1) * WARP
        chosen = rewire_kernel(autapses, multapses)
        run = numba_cuda_kernel(chosen, outs, launch_dims=dims, input_output_aliases={0: 0})
        return run(indices, indptr, *others)

    return call
