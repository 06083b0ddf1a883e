"""Exponential synapses in Warp: one thread per row, which ends at once where its neuron is silent."""

from collections.abc import Callable
from typing import Any

from event_ops.kernels.warp.scatter import add_event_rows


def build(**_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the decay is XLA's, which runs it in place and on all threads."""

    def call(g: Any, data: Any, indices: Any, indptr: Any, spikes: Any, decay: Any) -> Any:
        return add_event_rows(g * decay, data, indices, indptr, spikes)

    return call
