"""Event-driven product with a random matrix on a GPU: a warp generates a row, only of an active event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from event_ops.kernels.numba_cuda.access import is_active
from event_ops.kernels.numba_cuda.bernoulli import product
from event_ops.kernels.numba_cuda.threads import WARP

RESIDENT_WARPS = 1 << 13  # about as many as a GPU holds at once; with more rows each watches several


def build(
    *, outs: Any, prob: float, shape: tuple[int, int], distribution: str, transpose: bool, **_: Any
) -> Callable[..., Any]:
    """Return the function of arrays for one matrix and orientation."""
    return product(
        outs,
        prob=prob,
        rows=shape[0],
        distribution=distribution,
        transpose=transpose,
        counts=is_active,
        watched=min(WARP, max(1, shape[0] // RESIDENT_WARPS)),
    )
