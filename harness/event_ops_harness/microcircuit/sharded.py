"""The network over several devices: each has a block of the neurons, and the synapses onto them.

A step communicates who spiked, and nothing else: one all-gather of a flag per neuron. Each device draws the
background of all neurons and keeps its own, so that the spikes are those of one device.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

from event_ops_harness.cuba.blocks import AXIS, EqualBlocks, placed
from event_ops_harness.microcircuit.connectivity import BACKGROUND, Connectivity, key_of
from event_ops_harness.microcircuit.delivery import Synapses
from event_ops_harness.microcircuit.network import Part, State, Wiring
from event_ops_harness.microcircuit.simulation import Arguments, Placement

# How the arrays of the state are split; who spiked, and the number of the step, are the same for all.
STATE: Any = State._make((P(AXIS), P(AXIS), P(AXIS), P(), P(), P()))
WIRING: Any = Wiring._make((Synapses._make([P(AXIS)] * 3), None, P(), P()))


class Blocks(EqualBlocks):
    """Blocks that exchange a flag per neuron."""

    @property
    def part(self) -> Part:
        """What a device has of everybody's values, and everybody's spikes."""
        return Part(self._own, self._add, self._exchange)

    def _own(self, x: jax.Array) -> jax.Array:
        first = jax.lax.axis_index(AXIS) * self.size
        return jax.lax.dynamic_slice_in_dim(jnp.pad(x, (0, self.missing)), first, self.size)

    def _add(self, noise: Callable[[jax.Array], jax.Array], I_syn: jax.Array) -> jax.Array:
        return I_syn + self._own(noise(jnp.zeros(self.neurons, I_syn.dtype)))

    def _exchange(self, own: jax.Array) -> jax.Array:
        return jax.lax.all_gather(own, AXIS, tiled=True)[: self.neurons]

    def padded(self, state: State) -> State:
        """With neurons at the end whose spikes nobody is told of."""
        wide = dict.fromkeys(("V_m", "refractory", "I_syn"), (0, self.missing))
        filled = {name: jnp.pad(getattr(state, name), width) for name, width in wide.items()}
        return state._replace(**filled)

    def wiring(self, connectivity: Connectivity, seed: int) -> Wiring:
        """The synapses onto each block, rows as in the whole; as many entries for each block as for any."""
        owner = connectivity.indices // np.int32(self.size)
        counts = [np.count_nonzero(owner == device) for device in range(self.devices)]
        data = np.zeros((self.devices, max(counts)), np.float32)
        indices = np.zeros(data.shape, np.int32)
        indptr = np.zeros((self.devices, connectivity.indptr.size), np.int32)
        for device, count in enumerate(counts):
            own = owner == device
            data[device, :count] = connectivity.data[own]
            indices[device, :count] = connectivity.indices[own] - np.int32(device * self.size)
            indptr[device, 1:] = count_up_to(own, connectivity.indptr[1:])
        seed_word = jnp.asarray(np.uint32(key_of(seed, BACKGROUND)))
        synapses = Synapses(*map(jnp.asarray, (data, indices, indptr)))
        return Wiring(synapses, None, seed_word, jnp.ones((), jnp.float32))

    @property
    def placement(self) -> Placement:
        return Placement(self._place, self._around)

    def _place(self, arguments: Arguments) -> Arguments:
        """Each array where its parts are wanted."""
        state, buffer, wiring = arguments
        wide = self.padded(state), buffer, wiring
        specs = STATE, jax.tree.map(lambda _: P(), buffer), WIRING
        return jax.tree.map(lambda x, spec: placed(x, self.mesh, spec), wide, specs)

    def _around(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """A loop over steps of a part, on every device; what is recorded is the same on all of them."""

        def local(state: State, buffer: Any, wiring: Wiring) -> Any:
            own = Synapses(*(x[0] for x in wiring.recurrent))
            return run(state, buffer, wiring._replace(recurrent=own))

        # That is what JAX cannot know of an all-gather's result.
        specs = {"in_specs": (STATE, P(), WIRING), "out_specs": (STATE, P(), P()), "check_vma": False}
        return jax.shard_map(local, mesh=self.mesh, **specs)


def count_up_to(flags: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """How many of flags[:end] are set, for each end."""
    counts = np.zeros(flags.size + 1, np.int32)
    np.cumsum(flags, dtype=np.int32, out=counts[1:])
    return counts[ends]
