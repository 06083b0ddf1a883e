"""Event-driven product with a matrix of words in Warp: one thread per row, which ends at once if silent."""

from collections.abc import Callable
from typing import Any

from event_ops.kernels.reference.entries import one_each
from event_ops.kernels.warp.packed_entries import gather, scatter


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation."""
    product = scatter(outs, shape) if transpose else gather(outs, shape)

    def call(entries: Any, indptr: Any, scale: Any, events: Any) -> Any:
        flat = one_each(events, shape[0 if transpose else 1], outs.dtype).astype(outs.dtype)
        return product(entries, indptr, scale, flat)

    return call
