"""Builders of maxima and minima, of segments and into a target, from a scatter that a backend has.

The scatter is a function `(how, mode, from_end, ascending)` that returns `(target, indices, updates) -> y`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.keywords import combined_at_places, refuse_error
from event_ops.kernels.reference.neutral import neutral
from event_ops.kernels.reference.ordered import from_keys, ordered_keys

Scatter = Callable[..., Callable[..., jax.Array]]


def in_jax(how: str, mode: str, from_end: bool, _ascending: bool = False) -> Callable[..., jax.Array]:
    """Return the scatter of JAX itself, which carries NaN through."""
    return partial(combined_at_places, how, mode=mode, from_end=from_end)


def of_keys(scatter: Scatter) -> Scatter:
    """Return the scatter of floats that a scatter of integers makes."""

    def of_floats(how: str, *options: Any) -> Callable[..., jax.Array]:
        combine = scatter(how, *options)

        def call(target: jax.Array, indices: jax.Array, updates: jax.Array) -> jax.Array:
            y = combine(ordered_keys(target, how), indices, ordered_keys(updates, how))
            return from_keys(y, target.dtype)

        return call

    return of_floats


def extrema_of_segments(operator: str, how: str, scatter: Scatter) -> Callable[..., Any]:
    """Return the builder of `operator`: the "max" or "min" of every segment."""

    def build(*, outs: Any, indices_are_sorted: bool, mode: str, **_: Any) -> Callable[..., jax.Array]:
        refuse_error(operator, mode)
        combine = scatter(how, mode, False, indices_are_sorted)
        nothing = neutral(how, outs.dtype)
        return lambda data, segment_ids: combine(jnp.full(outs.shape, nothing), segment_ids, data)

    return build


def extrema_in_target(operator: str, how: str, scatter: Scatter) -> Callable[..., Any]:
    """Return the builder of `operator`: the "max" or "min" of each element of a target and its updates."""

    def build(*, mode: str, **_: Any) -> Callable[..., jax.Array]:
        refuse_error(operator, mode)
        return scatter(how, mode, True, False)

    return build
