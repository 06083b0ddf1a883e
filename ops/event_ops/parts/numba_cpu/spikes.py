"""Writing spikes: as bools, or as numbers that carry a derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload


def spike_slots(spikes: Any) -> Any:
    """Where a loop stores spikes: bools as bytes, since stores of bools do not vectorise."""
    return spikes.view(np.uint8) if spikes.dtype == bool else spikes


@overload(spike_slots, strict=False)
def _spike_slots(spikes: Any) -> Any:
    if isinstance(spikes.dtype, types.Boolean):
        return lambda spikes: spikes.view(np.uint8)
    return lambda spikes: spikes
