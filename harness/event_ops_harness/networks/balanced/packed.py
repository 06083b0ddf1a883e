"""Blocks of neurons that exchange who spiked, packed.

A step communicates nothing else: one all-gather of a bit per neuron.
"""

from functools import partial
from typing import Any

import jax

import event_ops
from event_ops_harness.networks.balanced.connectivity import Connectivity
from event_ops_harness.networks.shared.blocks import AXIS, EqualBlocks


class PackedBlocks(EqualBlocks):
    """Exchange the spikes of equal blocks, a bit per neuron."""

    @property
    def exchanged_bytes(self) -> int:
        """The bytes that a device receives in a step."""
        return (self.devices - 1) * 4 * -(-self.size // 32)

    def connect(self, connectivity: Connectivity) -> Any:
        """Split the synapses by target."""
        raise NotImplementedError

    def exchange(self, spikes: jax.Array, backend: str | None) -> jax.Array:
        words = jax.lax.all_gather(event_ops.pack_events(spikes, backend=backend), AXIS)
        unpack = jax.vmap(partial(event_ops.unpack_events, n=self.size, backend=backend))
        return unpack(words).reshape(-1)[: self.neurons]
