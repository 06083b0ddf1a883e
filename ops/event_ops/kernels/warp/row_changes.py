"""Changes of the rows of a CSR matrix in Warp, in place, one thread for each row."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import warp as wp

from event_ops.kernels.reference.row_changes import ATTEMPTS
from event_ops.kernels.warp.access import Array, at, bounded, place
from event_ops.kernels.warp.random_numbers import philox2x32
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


def csr_normalize(*, outs: Any, subtractive: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays."""

    def call(data: Any, indices: Any, indptr: Any, target: Any, active: Any, limit: Any, *places: Any) -> Any:
        run = warp_kernel(normalize_rows, outs, launch_dims=active.shape, in_out_argnames=["w"])
        permutation = places[0] if places else jnp.zeros(0, jnp.int32)
        return run(data, indices, indptr, target, active, limit, permutation, subtractive)

    return call


_ATTEMPTS = wp.constant(ATTEMPTS)


@wp.func
def may_have(
    y: Array, begin: wp.int32, end: wp.int32, i: wp.int32, j: wp.int32, autapses: bool, multapses: bool
) -> bool:
    """Return whether a slot of row i, whose slots are from `begin` to `end`, may have column j."""
    if j < 0:
        return False
    if j == i and not autapses:
        return False
    if not multapses:
        for k in range(begin, end):
            if y[k] == y.dtype(j):
                return False
    return True


@wp.kernel(enable_backward=False)
def rewire_rows(
    y: Array, indptr: Array, rewired: Array, seed: wp.array(dtype=wp.uint32), step: wp.array(dtype=wp.uint32),
    columns: wp.array(dtype=wp.uint32), targets: Array, autapses: bool, multapses: bool,
):  # fmt: skip
    i = wp.tid()
    nse, size = y.shape[0], wp.int32(columns[0])
    begin, end = bounded(indptr[i], nse), bounded(indptr[i + 1], nse)
    # All are freed first: a synapse may move to where another one of its row was.
    for k in range(begin, end):
        if rewired[k]:
            y[k] = y.dtype(size)
    for k in range(begin, end):
        if rewired[k]:
            if targets.shape[0] > 0:
                j = place(targets[k], size)
                if may_have(y, begin, end, i, j, autapses, multapses):
                    y[k] = y.dtype(j)
            else:
                x, z = philox2x32(wp.uint32(k), step[0], seed[0])
                for _ in range(_ATTEMPTS):
                    j = place(wp.uint64(x) * wp.uint64(size) >> wp.uint64(32), size)
                    if may_have(y, begin, end, i, j, autapses, multapses):
                        y[k] = y.dtype(j)
                        break
                    x, z = philox2x32(x, z, seed[0])


def csr_rewire(*, outs: Any, autapses: bool, multapses: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays."""

    def call(indices: Any, indptr: Any, *others: Any) -> Any:
        run = warp_kernel(rewire_rows, outs, launch_dims=indptr.size - 1, in_out_argnames=["y"])
        return run(indices, indptr, *others, autapses, multapses)

    return call
