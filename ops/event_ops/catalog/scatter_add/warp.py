"""Scatter-add in Warp: one thread per element of the updates."""

from collections.abc import Callable
from typing import Any

from event_ops.checks.keywords import refuse_error
from event_ops.kernels.warp.scatter import scatter


def build(*, mode: str, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one mode; target is updated in place where it is not needed again."""
    refuse_error("scatter_add", mode)  # a Warp kernel cannot raise either
    return scatter("add", mode, from_end=True)
