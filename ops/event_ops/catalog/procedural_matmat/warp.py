"""Product of a random matrix with a matrix in Warp: one thread generates a row."""

from collections.abc import Callable
from typing import Any

from event_ops.kernels.warp.bernoulli import product


def build(
    *, outs: Any, prob: float, shape: tuple[int, int], distribution: str, transpose: bool, **_: Any
) -> Callable[..., Any]:
    """Return the call of the kernel for one matrix and orientation."""
    matrix = {"prob": prob, "rows": shape[0], "distribution": distribution, "transpose": transpose}
    return product(outs, **matrix, of_events=False)
