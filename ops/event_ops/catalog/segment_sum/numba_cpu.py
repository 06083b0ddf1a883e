"""Segment sums on the CPU: on one thread for little data, else on all; sorted ids divide it between them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.parts.numba_cpu.jit import njit, num_threads
from event_ops.parts.numba_cpu.scatter import plain, plain_nearest, refuse_outside, scatter, scatter_parallel
from event_ops.parts.numba_cpu.split import MIN_PARALLEL, clear
from ffi_bridge import numba_kernel

PLACES = {"drop": plain, "clip": plain_nearest, "error": plain}


@njit
def first_of_segment(segment_ids: Any, k: int, size: int, place: Any) -> int:
    """Return k, or the next position after it at which another segment begins."""
    while 0 < k < segment_ids.size:
        before, here = segment_ids[k - 1], segment_ids[k]
        if place(before, np.uintp(size)) != place(here, np.uintp(size)):
            break
        k += 1
    return k


@njit
def prepare(y: Any, segment_ids: Any, place: Any, strict: bool) -> None:
    """Set y = 0, after raising for ids out of range if `strict`."""
    if strict:
        refuse_outside(segment_ids, y.shape[0], place)
    clear(y)


@cache
def kernel(mode: str, threads: str) -> Any:
    """Return the kernel for one mode and `threads`: "one", "all", or "sorted": all, for ids that ascend."""
    place, strict = PLACES[mode], mode == "error"

    def segment_sum(data: Any, segment_ids: Any, y: Any) -> None:
        prepare(y, segment_ids, place, strict)
        scatter(y, segment_ids, data, 0, segment_ids.size, place)

    def segment_sum_parallel(data: Any, segment_ids: Any, y: Any) -> None:
        prepare(y, segment_ids, place, strict)
        scatter_parallel(y, segment_ids, data, place)

    def segment_sum_sorted(data: Any, segment_ids: Any, y: Any) -> None:
        prepare(y, segment_ids, place, strict)
        count, size, parts = segment_ids.size, y.shape[0], num_threads()
        for part in prange(parts):
            low = first_of_segment(segment_ids, count * part // parts, size, place)
            high = first_of_segment(segment_ids, count * (part + 1) // parts, size, place)
            scatter(y, segment_ids, data, low, high, place)

    if threads == "one":
        return njit(segment_sum)
    return njit(parallel=True)(segment_sum_sorted if threads == "sorted" else segment_sum_parallel)


def build(*, outs: Any, indices_are_sorted: bool, mode: str, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many ids."""

    def call(data: Any, segment_ids: Any) -> Any:
        large = "sorted" if indices_are_sorted else "all"
        chosen = kernel(mode, large if reaches(segment_ids.size, MIN_PARALLEL) else "one")
        return numba_kernel(chosen, outs)(data, segment_ids)

    return call
