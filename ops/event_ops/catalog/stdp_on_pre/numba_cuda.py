"""Depression on a GPU: the rows of the neurons that spiked, a few warps for each, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from event_ops.parts.numba_cuda.plasticity import moving_callable, own_place


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the native call; amount is -A_minus. Weights are in the order of their entries: no places."""
    move = moving_callable(outs, own_place)
    return lambda w, indices, indptr, *others: move(w, indices, indptr, indices, *others)
