"""Event-driven product of a random matrix with a matrix on a GPU: a warp generates a row, if it is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from event_ops.kernels.numba_cuda.access import is_active
from event_ops.kernels.numba_cuda.bernoulli_matmat import product


def build(
    *, outs: Any, prob: float, shape: tuple[int, int], distribution: str, transpose: bool, **_: Any
) -> Callable[..., Any]:
    """Return the function of arrays for one matrix and orientation."""
    return product(
        outs, prob=prob, rows=shape[0], distribution=distribution, transpose=transpose, counts=is_active
    )
