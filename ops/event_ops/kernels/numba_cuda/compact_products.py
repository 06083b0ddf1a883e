"""Products with a matrix of words on a GPU: as many threads per row as suit its length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from event_ops.kernels.numba_cuda.packed_entries import deliver, gather, scatter
from event_ops.kernels.reference.compact_products import of_events


def compact_matvec(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: of numbers."""
    return scatter(outs, shape) if transpose else gather(outs, shape)


def compact_event_matvec(
    *, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any
) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: all rows, or transposed those of active events."""
    return deliver(outs, shape) if transpose else of_events(gather(outs, shape), shape[1], outs.dtype)
