"""Delivering events: adding the rows of a CSR matrix whose events are active to a vector of the columns."""

from typing import Any

import warp as wp

from event_ops.parts.warp.access import at
from event_ops.parts.warp.csr import bounded, is_active, place


@wp.kernel(enable_backward=False)
def add_rows(
    data: wp.array(dtype=Any),
    indices: wp.array(dtype=Any),
    indptr: wp.array(dtype=Any),
    events: wp.array(dtype=Any),
    y: wp.array(dtype=Any),
):
    """y += A.T @ events, one thread per row."""
    i = wp.tid()
    nse = indices.shape[0]
    if is_active(events[i]):
        event = y.dtype(events[i])
        for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
            j = place(indices[k], y.shape[0])
            if j >= 0:
                wp.atomic_add(y, j, at(data, k) * event)
