"""Event-driven product of a random matrix with a matrix on the CPU, each row generated once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from event_ops.kernels.numba_cpu.access import weighted
from event_ops.kernels.numba_cpu.bernoulli import product
from event_ops.kernels.numba_cpu.bernoulli_matmat import any_active, gather_kernels, scatter_kernels


def build(
    *, outs: Any, prob: float, shape: tuple[int, int], distribution: str, transpose: bool, **_: Any
) -> Callable[..., Any]:
    """Return the native call for one matrix and orientation."""
    kernels = scatter_kernels(weighted, any_active) if transpose else gather_kernels(weighted)
    return product(kernels, outs, prob, shape, distribution)
