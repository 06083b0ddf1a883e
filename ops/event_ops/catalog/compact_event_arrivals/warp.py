"""Arrivals through synapses with delays whose entries are words, in Warp: one thread per neuron and delay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.kernels.reference.arrivals import Part, arrivals
from event_ops.kernels.warp.packed_entries import scatter


def build(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the function of arrays, which launches a kernel for each part."""

    def product(part: Part) -> jax.Array:
        sums = jax.ShapeDtypeStruct(part.shape[1:], outs.dtype)
        return scatter(sums, part.shape)(part.entries, part.indptr, part.scale, part.events)

    return arrivals(product, shape, outs.dtype)
