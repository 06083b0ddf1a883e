"""Scatters into a target: on one thread for few updates, into private arrays of all threads for many."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.combine import COMBINE
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.scatter import (
    counted,
    counted_nearest,
    refuse_outside,
    scatter,
    scatter_parallel,
)
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL
from event_ops.kernels.reference.neutral import neutral
from ffi_bridge import numba_kernel

PLACES = {"drop": counted, "clip": counted_nearest, "error": counted}


@cache
def kernel(how: str, dtype: Any, mode: str, large: bool) -> Any:
    """Return the kernel for one mode; target and y are the same memory, which XLA copies first if it must."""
    place, strict = PLACES[mode], mode == "error"
    combine, value = COMBINE[how], neutral(how, dtype)

    def scatter_into(target: Any, indices: Any, updates: Any, y: Any) -> None:
        if strict:
            refuse_outside(indices, y.shape[0], place)
        scatter(y, indices, updates, 0, indices.size, place, combine)

    def scatter_into_parallel(target: Any, indices: Any, updates: Any, y: Any) -> None:
        if strict:
            refuse_outside(indices, y.shape[0], place)
        scatter_parallel(y, indices, updates, place, combine, value)

    return njit(parallel=True)(scatter_into_parallel) if large else njit(scatter_into)


def into_target(how: str) -> Callable[..., Any]:
    """Return the builder of the scatter by "add", "max", "min" or "mul"."""

    def build(*, outs: Any, mode: str, **_: Any) -> Callable[..., Any]:
        """Return the function of arrays: on one thread, or on all for many indices."""

        def call(target: Any, indices: Any, updates: Any) -> Any:
            chosen = kernel(how, outs.dtype, mode, reaches(indices.size, MIN_PARALLEL))
            return numba_kernel(chosen, outs, input_output_aliases={0: 0})(target, indices, updates)

        return call

    return build
