"""Delivery with delays on the CPU: the rows of the neurons that spiked, into slots of the ring buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from event_ops.numba_parts.delays import add_delayed_rows
from event_ops.numba_parts.event_ids import ids_of
from event_ops.numba_parts.jit import njit
from ffi_bridge import numba_kernel


# buffer and y are the same memory; XLA copies buffer first where it is needed again. One thread: private
# sums would cost a pass over the whole buffer, which is what a ring buffer is there to avoid.
@njit
def csr_event_deliver(
    buffer: Any, data: Any, indices: Any, indptr: Any, delays: Any, spikes: Any, slot: Any, y: Any
) -> None:
    ids = ids_of(spikes, indptr.size - 1)
    now = np.uintp(np.int64(slot[()]) % np.int64(y.shape[0]))
    add_delayed_rows(data, indices, indptr, delays, spikes, ids, now, y)


def generator(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """The callable."""
    return numba_kernel(csr_event_deliver, outs, input_output_aliases={0: 0})
