"""Normalising rows in Warp: one thread per row, on the weights themselves."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import warp as wp

from event_ops.kernels.warp.access import Array, at, bounded, place
from ffi_bridge import warp_kernel


@wp.func
def place_of(permutation: Array, p: wp.int32, nse: wp.int32) -> wp.int32:
    """Return where the weight of entry p is: at p if the permutation is empty; -1 if out of range."""
    if permutation.shape[0] == 0:
        return p
    return place(permutation[p], nse)


@wp.kernel(enable_backward=False)
def normalize_rows(
    w: Array, indices: Array, indptr: Array, target: Array, active: Array, limit: Array, permutation: Array,
    subtractive: bool,
):  # fmt: skip
    i = wp.tid()
    nse, size = w.shape[0], wp.int32(limit[0])
    if active[i]:
        begin, end = bounded(indptr[i], nse), bounded(indptr[i + 1], nse)
        total = w.dtype(0)
        count = wp.int32(0)
        for p in range(begin, end):
            k = place_of(permutation, p, nse)
            if place(indices[p], size) >= 0 and k >= 0:
                total += wp.where(subtractive, w[k], wp.abs(w[k]))
                count += 1
        # Of weights that are all 0 there is nothing to multiply; NaN shows.
        if count > 0 and (subtractive or total != w.dtype(0)):
            goal = at(target, i)
            share = wp.where(subtractive, (goal - total) / w.dtype(count), goal / total)
            for p in range(begin, end):
                k = place_of(permutation, p, nse)
                if place(indices[p], size) >= 0 and k >= 0:
                    w[k] = wp.where(subtractive, w[k] + share, w[k] * share)


def build(*, outs: Any, subtractive: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays."""

    def call(data: Any, indices: Any, indptr: Any, target: Any, active: Any, limit: Any, *places: Any) -> Any:
        run = warp_kernel(normalize_rows, outs, launch_dims=active.shape, in_out_argnames=["w"])
        permutation = places[0] if places else jnp.zeros(0, jnp.int32)
        return run(data, indices, indptr, target, active, limit, permutation, subtractive)

    return call
