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
        return Part(self._own, self._exchange)

    def _own(self, x: jax.Array) -> jax.Array:
        first = jax.lax.axis_index(AXIS) * self.size
        return jax.lax.dynamic_slice_in_dim(jnp.pad(x, (0, self.missing)), first, self.size)

    def _exchange(self, own: jax.Array) -> jax.Array:
        return jax.lax.all_gather(own, AXIS, tiled=True)[: self.neurons]

    def padded(self, state: State) -> State:
        """With neurons at the end whose spikes nobody is told of."""
        wide = dict.fromkeys(("V_m", "refractory", "I_syn"), (0, self.missing))
        filled = {name: jnp.pad(getattr(state, name), width) for name, width in wide.items()}
        return state._replace(**filled)

    def wiring(self, connectivity: Connectivity, seed: int) -> Wiring:
        """The synapses onto each block, rows as in the whole; as many entries for each block as for any."""
        device = connectivity.indices // self.size
        rows = np.repeat(np.arange(connectivity.indptr.size - 1), np.diff(connectivity.indptr))
        parts = [self._onto(connectivity, rows, np.flatnonzero(device == d), d) for d in range(self.devices)]
        longest = max(len(part[0]) for part in parts)
        stacked = [
            [np.pad(x, (0, longest - len(x))) if i != 2 else x for i, x in enumerate(p)] for p in parts
        ]
        arrays = (jnp.asarray(np.stack(xs)) for xs in zip(*stacked, strict=True))
        seed_word = jnp.asarray(np.uint32(key_of(seed, BACKGROUND)))
        return Wiring(Synapses(*arrays), None, seed_word, jnp.ones((), jnp.float32))

    def _onto(
        self, connectivity: Connectivity, rows: np.ndarray, chosen: np.ndarray, device: int
    ) -> tuple[np.ndarray, ...]:
        ends = np.searchsorted(rows[chosen], np.arange(connectivity.indptr.size)).astype(np.int32)
        columns = connectivity.indices[chosen] - np.int32(device * self.size)
        return connectivity.data[chosen], columns, ends

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
