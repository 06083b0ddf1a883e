"""Updates combined at places, of segments and into a target: on one thread if they are few, else on all."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at, hoist
from event_ops.kernels.numba_cpu.combine import COMBINE
from event_ops.kernels.numba_cpu.jit import by_type, is_array, njit, num_threads
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, combine_up, parts_for, private
from event_ops.kernels.reference.neutral import accumulated_in, neutral
from ffi_bridge import numba_kernel

# The place of an index is where it points: an unsigned number, at least `size` for an update to be dropped.


@njit
def plain(index: Any, size: Any) -> Any:
    """Return the place of an index where none counts from the end."""
    return np.uintp(index)


@njit
def plain_nearest(index: Any, size: Any) -> Any:
    """Return the place of an index as `plain` does, or the nearest end for one out of range."""
    if index < 0:
        return np.uintp(0)
    return min(np.uintp(index), size - np.uintp(1))


@njit
def counted(index: Any, size: Any) -> Any:
    """Return the place of an index where negative ones count from the end."""
    place = np.uintp(index)
    if place >= size and index < 0:
        return place + size
    return place


@njit
def counted_nearest(index: Any, size: Any) -> Any:
    """Return the place of an index as `counted` does, or the nearest end for one out of range."""
    place = counted(index, size)
    if place < size:
        return place
    return plain_nearest(index, size)


@njit
def refuse_outside(indices: Any, size: int, place: Any) -> None:
    """Raise IndexError unless every index has a place below `size`."""
    good = True
    for k in range(np.uintp(indices.size)):
        good &= place(indices[k], np.uintp(size)) < np.uintp(size)
    if not good:
        raise IndexError("an index is out of range, and mode='error' asks to be told")


@by_type
def combine_at(y: Any, j: Any, updates: Any, k: Any, combine: Any) -> Any:
    """y[j] = combine(y[j], updates[k]), for elements and for rows."""

    def element(y: Any, j: Any, updates: Any, k: Any, combine: Any) -> None:
        y[j] = combine(y[j], at(updates, k))

    def row(y: Any, j: Any, updates: Any, k: Any, combine: Any) -> None:
        for c in range(np.uintp(y.shape[1])):
            y[j, c] = combine(y[j, c], updates[k, c])

    def same_row(y: Any, j: Any, updates: Any, k: Any, combine: Any) -> None:
        for c in range(np.uintp(y.shape[1])):
            y[j, c] = combine(y[j, c], updates)

    return element if y.ndim == 1 else row if is_array(updates) else same_row


# Inlined: as an argument, a function is an address, which keeps a kernel out of the cache on disk.
@njit(forceinline=True)
def scatter(y: Any, indices: Any, updates: Any, low: int, high: int, place: Any, combine: Any) -> None:
    """Combine the updates from `low` to `high` with the values at the places of their indices."""
    hoisted = hoist(updates)
    size = np.uintp(y.shape[0])
    for k in range(np.uintp(low), np.uintp(high)):
        j = place(indices[k], size)
        if j < size:
            combine_at(y, j, hoisted, k, combine)


# Inlined, since only the parallel regions of a kernel itself are entered without the GIL.
@njit(inline="always")
def scatter_parallel(y: Any, indices: Any, updates: Any, place: Any, combine: Any, neutral: Any) -> None:
    """`scatter` of all updates on all threads, each into a private array that begins as `neutral`."""
    parts = parts_for(indices.size, y.shape[0])
    spare = np.empty((parts - 1, *y.shape), y.dtype)
    for part in prange(parts):
        mine = private(y, spare, part)
        if part > 0:
            mine[:] = neutral
        low, high = indices.size * part // parts, indices.size * (part + 1) // parts
        scatter(mine, indices, updates, low, high, place, combine)
    combine_up(spare, y, combine)


PLACES = {"drop": plain, "clip": plain_nearest, "error": plain}
PLACES_FROM_END = {"drop": counted, "clip": counted_nearest, "error": counted}


@cache
def target_kernel(how: str, dtype: Any, mode: str, large: bool) -> Any:
    """Return the kernel for one mode; target and y are the same memory, which XLA copies first if it must."""
    place, strict = PLACES_FROM_END[mode], mode == "error"
    combine, value = COMBINE[how], neutral(how, dtype)

    @njit(parallel=large)
    def scatter_into(target: Any, indices: Any, updates: Any, y: Any) -> None:
        if strict:
            refuse_outside(indices, y.shape[0], place)
        if large:
            scatter_parallel(y, indices, updates, place, combine, value)
        else:
            scatter(y, indices, updates, 0, indices.size, place, combine)

    return scatter_into


def into_target(how: str, *, outs: Any, mode: str, **_: Any) -> Callable[..., Any]:
    """Return the scatter by "add", "max", "min" or "mul" as a function of arrays."""

    def call(target: Any, indices: Any, updates: Any) -> Any:
        chosen = target_kernel(how, outs.dtype, mode, reaches(indices.size, MIN_PARALLEL))
        return numba_kernel(chosen, outs, input_output_aliases={0: 0})(target, indices, updates)

    return call


@njit
def first_of_segment(segment_ids: Any, k: int, size: int, place: Any) -> int:
    """Return k, or the next position after it at which another segment begins."""
    while 0 < k < segment_ids.size:
        before, here = segment_ids[k - 1], segment_ids[k]
        if place(before, np.uintp(size)) != place(here, np.uintp(size)):
            break
        k += 1
    return k


def make_prepare(value: Any, place: Any, strict: bool) -> Any:
    """Return the function that sets y = value, after raising for ids out of range if `strict`."""

    @njit
    def prepare(y: Any, segment_ids: Any) -> None:
        if strict:
            refuse_outside(segment_ids, y.shape[0], place)
        # On one thread, while in a parallel function Numba would launch all; a constant 0 becomes a memset.
        y[:] = value

    return prepare


@njit
def round_into(y: Any, sums: Any) -> None:
    """Round sums of a wider dtype into y."""
    rounded, each = y.reshape(-1), sums.reshape(-1)
    for i in range(np.uintp(rounded.size)):
        rounded[i] = each[i]


@cache
def segment_kernel(how: str, dtype: Any, mode: str, threads: str) -> Any:
    """Return the kernel for one mode and `threads`: "one", "all", or "sorted": all, for ids that ascend."""
    wide = accumulated_in(dtype) if how == "add" else np.dtype(dtype)
    place, combine, value = PLACES[mode], COMBINE[how], neutral(how, dtype)
    prepare, widens = make_prepare(value, place, mode == "error"), wide != dtype
    ascend, large = threads == "sorted", threads != "one"

    @njit(parallel=large)
    def reduce_segments(data: Any, segment_ids: Any, y: Any) -> None:
        # A constant of the closure: Numba gives a type to the array that is used, and does not see the other.
        sums = np.empty(y.shape, wide) if widens else y
        prepare(sums, segment_ids)
        if large and not ascend:
            scatter_parallel(sums, segment_ids, data, place, combine, value)
        else:
            count, size, parts = segment_ids.size, y.shape[0], num_threads() if large else 1
            for part in prange(parts):
                # A segment belongs to one thread, so that none waits for another.
                low = first_of_segment(segment_ids, count * part // parts, size, place)
                high = first_of_segment(segment_ids, count * (part + 1) // parts, size, place)
                scatter(sums, segment_ids, data, low, high, place, combine)
        if widens:
            round_into(y, sums)

    return reduce_segments


def of_segments(how: str, *, outs: Any, indices_are_sorted: bool, mode: str, **_: Any) -> Callable[..., Any]:
    """Return the reduction of segments by "add", "max" or "min" as a function of arrays."""

    def call(data: Any, segment_ids: Any) -> Any:
        many = reaches(segment_ids.size, MIN_PARALLEL)
        threads = ("sorted" if indices_are_sorted else "all") if many else "one"
        return numba_kernel(segment_kernel(how, outs.dtype, mode, threads), outs)(data, segment_ids)

    return call


scatter_add, scatter_mul = partial(into_target, "add"), partial(into_target, "mul")
scatter_min, scatter_max = partial(into_target, "min"), partial(into_target, "max")
segment_sum = partial(of_segments, "add")
segment_min, segment_max = partial(of_segments, "min"), partial(of_segments, "max")
