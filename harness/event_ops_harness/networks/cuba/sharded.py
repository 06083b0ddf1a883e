"""The network over several devices: each has a block of the neurons, and the synapses onto them.

Each neuron adds up its inputs in the order of the one-device step, so that the spikes are the same ones.
"""

from typing import Any

import numpy as np
from jax.sharding import PartitionSpec as P

import event_ops
from event_ops_harness.networks.balanced.connectivity import Connectivity
from event_ops_harness.networks.balanced.packed import PackedBlocks
from event_ops_harness.networks.cuba.network import State, Synapses
from event_ops_harness.networks.shared.blocks import AXIS

STATE: Any = State._make((P(AXIS), P(AXIS), P(None, AXIS)))  # how its arrays are split


class Blocks(PackedBlocks):
    """Split state and synapses by target; a device has both channels of its block."""

    def connect(self, connectivity: Connectivity) -> event_ops.ShardedCSR:
        """Make the channels of each block rows of one matrix, and split it."""
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
