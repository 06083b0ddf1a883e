"""Packing events on the CPU: 64 at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.packed_events import pack_into
from ffi_bridge import numba_kernel


@njit
def pack_events(events: Any, words: Any) -> None:
    pack_into(events, words.view(np.uint8))


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""
    return numba_kernel(pack_events, outs)
