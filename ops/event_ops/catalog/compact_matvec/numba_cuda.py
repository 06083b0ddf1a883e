"""A matrix of words times a vector on a GPU: as many threads per row as suit its length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from event_ops.kernels.numba_cuda.packed_entries import gather, scatter


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation."""
    return scatter(outs, shape) if transpose else gather(outs, shape)
