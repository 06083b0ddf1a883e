"""Rewiring in Warp: one thread per row, one slot after the other, in place."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.catalog.csr_rewire.reference import ATTEMPTS
from event_ops.kernels.warp.access import Array, bounded, place
from event_ops.kernels.warp.random_numbers import philox2x32
from ffi_bridge import warp_kernel

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


def build(*, outs: Any, autapses: bool, multapses: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays."""

    def call(indices: Any, indptr: Any, *others: Any) -> Any:
        run = warp_kernel(rewire_rows, outs, launch_dims=indptr.size - 1, in_out_argnames=["y"])
        return run(indices, indptr, *others, autapses, multapses)

    return call
