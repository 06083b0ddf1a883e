"""Event-driven product with a matrix of words on a GPU: the rows of active events, or all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from event_ops.kernels.numba_cuda.packed_entries import deliver, gather
from event_ops.kernels.reference.entries import one_each


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation."""
    if transpose:
        return deliver(outs, shape)
    product = gather(outs, shape)

    def call(entries: Any, indptr: Any, scale: Any, events: Any) -> Any:
        return product(entries, indptr, scale, one_each(events, shape[1], outs.dtype).astype(outs.dtype))

    return call
