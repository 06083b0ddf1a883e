"""Compacting spikes on the CPU: 64 neurons at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from event_ops.parts.numba_cpu.events import active_ids
from event_ops.parts.numba_cpu.jit import njit
from ffi_bridge import numba_kernel


@njit
def spike_compact(spikes: Any, spike_ids: Any, num_spikes: Any) -> None:
    found = active_ids(spikes, spike_ids)
    for position in range(found, np.uintp(spike_ids.size)):
        spike_ids[position] = spikes.size
    num_spikes[()] = found


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""
    return numba_kernel(spike_compact, outs)
