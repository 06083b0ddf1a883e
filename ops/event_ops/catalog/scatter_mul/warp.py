"""Products at places in Warp: one thread per element of the updates, which compares and swaps."""

from collections.abc import Callable
from typing import Any

from event_ops.checks.keywords import refuse_error
from event_ops.kernels.reference.ordered import bits_of, from_bits
from event_ops.kernels.warp.scatter import scatter


def build(*, mode: str, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one mode."""
    refuse_error("scatter_mul", mode)  # a Warp kernel cannot raise either
    multiply = scatter("mul", mode, from_end=True)

    def call(target: Any, indices: Any, updates: Any) -> Any:
        return from_bits(multiply(bits_of(target), indices, updates), target.dtype)

    return call
