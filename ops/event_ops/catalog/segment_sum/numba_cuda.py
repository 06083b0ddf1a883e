"""Segment sums on a GPU: data are added atomically; ids that ascend are added up in runs first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.checks.keywords import places, refuse_error
from event_ops.kernels.numba_cuda.fixed_order import depends_on_order, summed_at_places
from event_ops.kernels.numba_cuda.scatter import adding_callable, atomic_dtype, launch_rows
from event_ops.kernels.numba_cuda.threads import clear
from event_ops.kernels.reference.neutral import accumulated_in


def build(
    *, outs: Any, indices_are_sorted: bool, mode: str, deterministic: bool = False, **_: Any
) -> Callable[..., Any]:
    """Return the function of arrays for one mode."""
    refuse_error("segment_sum", mode)  # a CUDA kernel cannot raise either
    width = outs.shape[1] if len(outs.shape) > 1 else 1
    matrix = jax.ShapeDtypeStruct((outs.shape[0], width), accumulated_in(atomic_dtype(outs.dtype)))

    def add(data: Any, segment_ids: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        arrays = segment_ids, data, y
        launch_rows("add", arrays, stream, mode, from_end=False, ascending=indices_are_sorted)

    def call(data: Any, segment_ids: Any) -> Any:
        rows = data.reshape(segment_ids.size, width)
        with jax.enable_x64(True):
            if deterministic and depends_on_order(outs):
                at = places(segment_ids, outs.shape[0], mode)
                sums = summed_at_places(at, rows.astype(matrix.dtype), matrix)
            else:
                sums = adding_callable(add, matrix)(rows.astype(atomic_dtype(outs.dtype)), segment_ids)
            return sums.reshape(outs.shape).astype(outs.dtype)

    return call
