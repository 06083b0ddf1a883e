"""Potentiation on a GPU: the columns of the neurons that spiked, a few warps for each, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from event_ops.parts.numba_cuda.plasticity import given_place, moving_callable


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the native call; amount is A_plus. Each place in w occurs once in the permutation."""
    return moving_callable(outs, given_place)
