"""A run that is differentiated, as an operation of JAX: its static part, and the axis of a batch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.network.functions import Functions
from event_ops.network.states import State


@dataclass(frozen=True)
class Run:
    """Hold the static part of a run.

    Args:
        tree: the structure of network, state and values of inputs.
        steps: how many.
        outs: shapes and dtypes of the results, flat.
        out_tree: their structure.
        residuals: those of what the gradient reads: the spikes of all steps, and states between segments.
        functions: those that the network calls, as they are now.
    """

    tree: Any
    steps: int
    outs: tuple[jax.ShapeDtypeStruct, ...]
    out_tree: Any
    residuals: tuple[jax.ShapeDtypeStruct, ...]
    functions: Functions

    @classmethod
    def of(
        cls, network: Any, state: State, values: Any, steps: int, outs: Any, functions: Functions
    ) -> "Run":
        """Return the static part of a run of this network from a state."""
        flat, out_tree = jax.tree.flatten(outs)
        layout = network.layout
        neurons, history = layout.named(state.neurons), layout.named(state.history)
        segments = -(-steps // segment_of(steps))
        bits = [
            jax.ShapeDtypeStruct((x.shape[0] - 1 + steps, x.shape[1]), x.dtype)
            for x in (history[name] for name in layout.populations)
        ]
        kept = [
            jax.ShapeDtypeStruct((segments, *x.shape), x.dtype)
            for name, population in layout.populations.items()
            for x in (neurons[name][key] for key in population.names if key in neurons[name])
        ]
        tree = jax.tree.structure((network, state, values))
        return cls(tree, steps, tuple(flat), out_tree, (*bits, *kept), functions)

    def restored(self, leaves: Any) -> tuple[Any, Any, Any]:
        """Return network, state and values of these leaves."""
        return jax.tree.unflatten(self.tree, list(leaves))

    @property
    def segment(self) -> int:
        """Return of how many steps one has its states kept."""
        return segment_of(self.steps)

    @cached_property
    def float_outs(self) -> tuple[int, ...]:
        """Return which results have derivatives."""
        return tuple(k for k, x in enumerate(self.outs) if jnp.issubdtype(x.dtype, jnp.floating))

    @cached_property
    def batchable(self) -> frozenset[int]:
        """Return which leaves a batch may have for each sample: the state, and values of inputs."""
        _, state, values = self.restored(range(self.tree.num_leaves))
        return frozenset(jax.tree.leaves((state, values)))


def segment_of(steps: int) -> int:
    """Return after how many steps states are kept, so that what is kept and a segment are equally long."""
    return math.isqrt(max(steps - 1, 0)) + 1


@dataclass(frozen=True)
class Batch:
    """Hold which leaves have an axis of samples in front, and its length; None: there is no batch."""

    size: int | None
    mapped: tuple[bool, ...]

    def first(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the leaves of the first sample."""
        return [x[0] if is_mapped else x for x, is_mapped in zip(leaves, self.mapped, strict=True)]

    def each(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the leaves with an axis of samples, of length 1 where all share one."""
        return [x if is_mapped else x[None] for x, is_mapped in zip(leaves, self.mapped, strict=True)]

    def squeezed(self, results: Sequence[Any]) -> list[Any]:
        """Return results without the axis of samples if there is no batch."""
        return [x if self.size else x[0] for x in results]

    def shape(self, x: Any) -> jax.ShapeDtypeStruct:
        """Return the shape and dtype of a result of a batch."""
        return x if self.size is None else jax.ShapeDtypeStruct((self.size, *x.shape), x.dtype)
