"""The current through gap junctions in Warp: one thread per neuron."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, at, bounded, place
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def csr_gap_current(data: Array, indices: Array, indptr: Array, v: Array, y: Array):
    i = wp.tid()
    nse, own = indices.shape[0], v[i]
    total = y.dtype(0)
    for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
        j = place(indices[k], v.shape[0])
        if j >= 0:
            total += at(data, k) * (v[j] - own)
    y[i] = total


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays."""
    current = warp_kernel(csr_gap_current, outs)
    return lambda data, indices, indptr, v: current(data.reshape(-1), indices, indptr, v)
