"""Normalising rows on a GPU: a warp for each row that is active, which sums it in one order, in place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import at, is_active, is_inside
from event_ops.kernels.numba_cuda.plasticity import given_place, own_place
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import WARP, sum_over
from ffi_bridge import numba_cuda_kernel

total_of = sum_over(WARP)
count_of = sum_over(WARP, kind="i")


@cache
def kernel(subtractive: bool, place_of: Any) -> Any:
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


def build(*, outs: Any, subtractive: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays."""

    def call(data: Any, indices: Any, indptr: Any, target: Any, active: Any, limit: Any, *places: Any) -> Any:
        chosen = kernel(subtractive, given_place if places else own_place)
        dims = active.size * WARP
        run = numba_cuda_kernel(chosen, outs, launch_dims=dims, input_output_aliases={0: 0})
        return run(data, indices, indptr, target.reshape(-1), active, limit, *(places or (indices,)))

    return call
