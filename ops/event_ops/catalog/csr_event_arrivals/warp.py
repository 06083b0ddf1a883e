"""What arrives through synapses with delays, in Warp: one thread per neuron and delay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from event_ops.history import lagged
from event_ops.warp_parts.deliver import add_rows
from event_ops.warp_parts.sums import sums_of


def generator(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """The callable."""

    def call(history: Any, data: Any, indices: Any, indptr: Any, slot: Any) -> Any:
        events = lagged(history, slot, shape[0])
        return sums_of(add_rows, outs, events.shape)(data, indices, indptr, events)

    return call
