"""The network over several devices: each has a block of the neurons, and the synapses onto them.

Each neuron adds up its inputs in the order of the one-device step, so that the spikes are the same ones.
"""

from typing import Any

from jax.sharding import PartitionSpec as P

import event_ops
from event_ops_harness.networks.balanced.connectivity import Connectivity
from event_ops_harness.networks.balanced.packed import PackedBlocks
from event_ops_harness.networks.coba.network import State, Synapses, channels
from event_ops_harness.networks.shared.blocks import AXIS

STATE: Any = State._make([P(AXIS)] * len(State._fields))  # how its arrays are split


class Blocks(PackedBlocks):
    """Split all arrays of the state, and the matrix of each channel by target."""

    def connect(self, connectivity: Connectivity) -> tuple[event_ops.ShardedCSR, ...]:
        columns = self.size * self.devices
        starts = range(0, columns + 1, self.size)
        matrices = channels(connectivity, columns)
        return tuple(event_ops.shard_csr(A.T, self.mesh, AXIS, starts=starts) for A in matrices)

    def split(self, state: State, wiring: tuple[event_ops.ShardedCSR, ...]) -> tuple[Any, Any]:
        return STATE, P(AXIS)

    def local(self, wiring: tuple[event_ops.ShardedCSR, ...]) -> Synapses:
        return Synapses(*(A.local().T for A in wiring))
