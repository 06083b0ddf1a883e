"""Arrivals through synapses with delays whose entries are words, in Warp: one thread per neuron and delay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.parts.reference.arrivals import arrivals
from event_ops.parts.warp.words import scatter


def build(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the function of arrays, which launches a kernel for each part."""

    def product(*args: jax.Array, shape: tuple[int, int]) -> jax.Array:
        return scatter(jax.ShapeDtypeStruct(shape[1:], outs.dtype), shape)(*args)

    def call(*args: jax.Array) -> jax.Array:
        *given, initial = args
        return initial + arrivals(product, *given, shape, outs.dtype)

    return call
