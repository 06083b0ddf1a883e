"""The network over several devices: each has a block of the neurons, and the synapses onto them.

A step communicates who spiked, and nothing else: one all-gather of a bit per neuron. Each neuron adds up its
inputs in the order of the one-device step, so that the spikes are the same ones.
"""

from functools import partial
from typing import Any

import jax
import numpy as np
from jax.sharding import PartitionSpec as P

import event_ops
from event_ops_harness.networks.cuba.connectivity import Connectivity
from event_ops_harness.networks.cuba.network import State, Synapses
from event_ops_harness.networks.shared.blocks import AXIS, EqualBlocks

STATE: Any = State._make((P(AXIS), P(AXIS), P(None, AXIS)))  # how its arrays are split


class Blocks(EqualBlocks):
    """Exchange the spikes of equal blocks packed, a bit per neuron."""

    @property
    def exchanged_bytes(self) -> int:
        """The bytes that a device receives in a step."""
        return (self.devices - 1) * 4 * -(-self.size // 32)

    def connect(self, connectivity: Connectivity) -> event_ops.ShardedCSR:
        """Split the synapses by target: a device has both channels of its block as rows of the matrix."""
        channel, target = np.divmod(connectivity.indices, np.int32(self.neurons))
        device, offset = np.divmod(target, np.int32(self.size))
        rows = 2 * self.size * self.devices
        columns = (2 * device + channel) * np.int32(self.size) + offset
        A = event_ops.CSR(connectivity.data, columns, connectivity.indptr, shape=(self.neurons, rows))
        starts = range(0, rows + 1, 2 * self.size)
        return event_ops.shard_csr(A.T, self.mesh, AXIS, starts=starts)

    def split(self, state: State, wiring: event_ops.ShardedCSR) -> tuple[Any, Any]:
        return STATE, P(AXIS)

    def local(self, wiring: event_ops.ShardedCSR) -> Synapses:
        A = wiring.local()
        return Synapses(A.data, A.indices, A.indptr)

    def exchange(self, spikes: jax.Array, backend: str | None) -> jax.Array:
        words = jax.lax.all_gather(event_ops.pack_events(spikes, backend=backend), AXIS)
        unpack = jax.vmap(partial(event_ops.unpack_events, n=self.size, backend=backend))
        return unpack(words).reshape(-1)[: self.neurons]
