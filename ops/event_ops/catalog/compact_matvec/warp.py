"""A matrix of words times a vector in Warp: one thread per row."""

from collections.abc import Callable
from typing import Any

from event_ops.kernels.warp.packed_entries import gather, scatter


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation."""
    return scatter(outs, shape) if transpose else gather(outs, shape)
