"""Products with a matrix of words in Warp: one thread per row, which ends at once if silent."""

from collections.abc import Callable
from typing import Any

from event_ops.kernels.reference.compact_products import of_events
from event_ops.kernels.warp.packed_entries import gather, scatter


def compact_matvec(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: of numbers."""
    return scatter(outs, shape) if transpose else gather(outs, shape)


def compact_event_matvec(
    *, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any
) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: of events in any encoding."""
    product = compact_matvec(outs=outs, shape=shape, transpose=transpose)
    return of_events(product, shape[not transpose], outs.dtype)
