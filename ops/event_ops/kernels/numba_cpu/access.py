"""Accessors that let one kernel serve arrays and single values, flags and numbers alike.

Each function is plain Python; Numba picks the branch by type when it compiles, not at run time. Where entries
find their weights by a permutation, a pair (weights, permutation) stands for the weights in order. Where the
entries of a row are, `ends` says: indptr of a CSR matrix, or a pair (rows, entries of each row).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from event_ops.kernels.numba_cpu.jit import INLINED, njit
from ffi_bridge.numba_cpu import as_dtype
from ffi_bridge.numba_cpu.float16_storage import HALVES, Half


def widened(value: Any) -> Any:
    """Return a float of 16 bits, in which Numba does not compute, as float32; any value else as it is."""
    return np.float32(value) if value.dtype in HALVES else value


def hoist(values: Any) -> Any:
    """Return the value of a 0-d array, or the array itself; call it in front of the loop."""
    return widened(values[()]) if not isinstance(values, tuple) and np.ndim(values) == 0 else values


def at(hoisted: Any, i: Any) -> Any:
    """Return element i of the array from `hoist`, or the single value; 0 for a place out of range."""
    if isinstance(hoisted, tuple):
        weights, permutation = hoisted
        place = np.uintp(permutation[i])
        return widened(weights[place] if place < np.uintp(weights.size) else weights.dtype.type(0))
    return widened(hoisted[i]) if np.ndim(hoisted) else hoisted


def weighted(weight: Any, event: Any) -> Any:
    """Return weight * event, and exactly 0 for an inactive event, whatever the weight is."""
    return weight * event if event else type(weight)(0)


@overload(widened, strict=False)
def _widened(value: Any) -> Any:
    return (lambda value: np.float32(value)) if isinstance(value, Half) else (lambda value: value)


@overload(hoist, strict=False)
def _hoist(values: Any) -> Any:
    # Inside prange Numba has already turned a 0-d array into its value.
    if isinstance(values, types.Array):
        return (lambda values: values) if values.ndim else (lambda values: widened(values[()]))
    return lambda values: widened(values)


@overload(at, strict=False)
def _at(hoisted: Any, i: Any) -> Any:
    if isinstance(hoisted, types.Array):
        return lambda hoisted, i: widened(hoisted[i])
    if isinstance(hoisted, types.BaseTuple):
        weights: Any = hoisted
        kind = weights[0].dtype
        zero = np.float32(0) if isinstance(kind, Half) else as_dtype(kind).type(0)

        def weight_at(hoisted: Any, i: Any) -> Any:
            weights, permutation = hoisted
            place = np.uintp(permutation[i])
            return widened(weights[place]) if place < np.uintp(weights.size) else zero

        return weight_at
    return lambda hoisted, i: hoisted


def row_count(ends: Any) -> Any:
    """Return how many rows a matrix has."""
    return ends[0] if isinstance(ends, tuple) else ends.size - 1


def row_span(ends: Any, i: Any, nse: Any) -> Any:
    """Return where the entries of row i begin and end, of a matrix of `nse` entries; all np.uintp."""
    if isinstance(ends, tuple):
        return i * np.uintp(ends[1]), (i + np.uintp(1)) * np.uintp(ends[1])
    return min(np.uintp(ends[i]), nse), min(np.uintp(ends[i + np.uintp(1)]), nse)


@overload(row_count, strict=False, jit_options=INLINED)
def _row_count(ends: Any) -> Any:
    return (lambda ends: ends.size - 1) if isinstance(ends, types.Array) else (lambda ends: ends[0])


@overload(row_span, strict=False, jit_options=INLINED)
def _row_span(ends: Any, i: Any, nse: Any) -> Any:
    if isinstance(ends, types.Array):
        return lambda ends, i, nse: (
            min(np.uintp(ends[i]), nse),
            min(np.uintp(ends[i + np.uintp(1)]), nse),
        )
    return lambda ends, i, nse: (i * np.uintp(ends[1]), (i + np.uintp(1)) * np.uintp(ends[1]))


@cache
def permuted(kernel: Any, parallel: bool) -> Any:
    """Return the kernel of a product whose entry k has weight data[permutation[k]], from that of the product.

    One that is parallel has to be inlined: only the parallel regions of a kernel itself run without the GIL.
    """

    @njit(parallel=parallel)
    def product(data: Any, indices: Any, indptr: Any, events: Any, permutation: Any, y: Any) -> None:
        kernel((data, permutation), indices, indptr, events, y)

    return product


@overload(weighted, strict=False)
def _weighted(weight: Any, event: Any) -> Any:
    # A select of zero vectorises; an addition under a condition does not.
    if isinstance(event, types.Boolean):
        return lambda weight, event: weight if event else type(weight)(0)
    if isinstance(event, types.Integer):
        return lambda weight, event: weight * type(weight)(event) if event else type(weight)(0)
    return lambda weight, event: weight * event if event else type(weight)(0)


def product(x: Any, y: Any) -> Any:
    """x * y, and exactly 0 where one of them is False."""
    return weighted(y, x) if isinstance(x, bool | np.bool_) else weighted(x, y)


@overload(product, strict=False)
def _product(x: Any, y: Any) -> Any:
    if isinstance(x, types.Boolean):
        return lambda x, y: weighted(y, x)
    if isinstance(y, types.Boolean):
        return lambda x, y: weighted(x, y)
    return lambda x, y: x * y


def stored_spikes(spikes: Any) -> Any:
    """Return the array in which a loop stores spikes: bytes for bools, whose stores do not vectorise."""
    return spikes.view(np.uint8) if spikes.dtype == bool else spikes


@overload(stored_spikes, strict=False)
def _stored_spikes(spikes: Any) -> Any:
    if isinstance(spikes.dtype, types.Boolean):
        return lambda spikes: spikes.view(np.uint8)
    return lambda spikes: spikes
