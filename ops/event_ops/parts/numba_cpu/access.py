"""Accessors that let one kernel serve arrays and single values, flags and numbers alike.

Each function is plain Python; Numba picks the branch by type when it compiles, not at run time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload


def hoist(values: Any) -> Any:
    """Return the value of a 0-d array, or the array itself; call it in front of the loop."""
    return values[()] if np.ndim(values) == 0 else values


def at(hoisted: Any, i: Any) -> Any:
    """Return element i of what `hoist` returned, or the single value."""
    return hoisted[i] if np.ndim(hoisted) else hoisted


def weighted(weight: Any, event: Any) -> Any:
    """Return weight * event, and exactly 0 for an inactive event, whatever the weight is."""
    return weight * event if event else type(weight)(0)


@overload(hoist, strict=False)
def _hoist(values: Any) -> Any:
    # Inside prange Numba has already turned a 0-d array into its value.
    if isinstance(values, types.Array) and values.ndim == 0:
        return lambda values: values[()]
    return lambda values: values


@overload(at, strict=False)
def _at(hoisted: Any, i: Any) -> Any:
    if isinstance(hoisted, types.Array):
        return lambda hoisted, i: hoisted[i]
    return lambda hoisted, i: hoisted


@overload(weighted, strict=False)
def _weighted(weight: Any, event: Any) -> Any:
    # A select of zero vectorises; an addition under a condition does not.
    if isinstance(event, types.Boolean):
        return lambda weight, event: weight if event else type(weight)(0)
    return lambda weight, event: weight * event if event else type(weight)(0)


def stored_spikes(spikes: Any) -> Any:
    """Return the array in which a loop stores spikes: bytes for bools, whose stores do not vectorise."""
    return spikes.view(np.uint8) if spikes.dtype == bool else spikes


@overload(stored_spikes, strict=False)
def _stored_spikes(spikes: Any) -> Any:
    if isinstance(spikes.dtype, types.Boolean):
        return lambda spikes: spikes.view(np.uint8)
    return lambda spikes: spikes
