"""Compacting spikes on the CPU: eight neurons at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from event_ops.numba_parts.events import active_ids
from ffi_bridge import numba_kernel


@njit
def spike_compact(spikes: Any, spike_ids: Any, num_spikes: Any) -> None:
    size, capacity = spikes.size, spike_ids.size
    if capacity >= size:
        found = active_ids(spikes, spike_ids)
    else:
        ids = np.empty(size, np.int32)
        found = active_ids(spikes, ids)
        spike_ids[:] = ids[:capacity]
    for position in range(np.uintp(found), np.uintp(capacity)):
        spike_ids[position] = size
    num_spikes[()] = found


def generator(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """The callable."""
    return numba_kernel(spike_compact, outs)
