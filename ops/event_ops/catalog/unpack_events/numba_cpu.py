"""Unpacking events on the CPU: 64 at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from event_ops.kernels.numba_cpu.packed_events import unpack_into
from ffi_bridge import numba_kernel


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""
    return numba_kernel(unpack_into, outs)
