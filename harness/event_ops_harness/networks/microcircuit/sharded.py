"""The network over several devices: each has a block of the neurons, and the synapses onto them.

A step communicates who spiked, and nothing else: one all-gather of a flag per neuron. Each device draws the
background of all neurons and keeps its own, and of the synapses it draws those onto its own, so that the
spikes are those of one device.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from event_ops_harness.networks.microcircuit.connectivity import Drawing, connect, source_ends
from event_ops_harness.networks.microcircuit.delivery import Synapses
from event_ops_harness.networks.microcircuit.network import Part, State, Wiring
from event_ops_harness.networks.microcircuit.simulation import Arguments, Buffer, Loop, Placement
from event_ops_harness.networks.shared.blocks import AXIS, EqualBlocks, placed


def specs_of(state: State, wiring: Wiring) -> tuple[Any, Any]:
    """How the arrays are split. Who spiked, and the number of the step, are the same for all."""
    on_their_way = P(None, AXIS) if isinstance(wiring.recurrent, Drawing) else P()
    neurons = {"V_m": P(AXIS), "refractory": P(AXIS), "I_syn": P(AXIS), "pending": on_their_way}
    state_specs: Any = State._make([P()] * len(state))
    return state_specs._replace(**neurons), jax.tree.map(spec_of, wiring, is_leaf=is_synapses)


def is_synapses(x: Any) -> bool:
    return isinstance(x, Synapses)


def spec_of(x: Any) -> Any:
    """A row for each device of the synapses; all the rest on all devices."""
    return Synapses._make([P(AXIS)] * len(x)) if is_synapses(x) else P()


def tell(on_progress: Callable[[int], None], before: int, scale: float, done: int) -> None:
    """`on_progress` for a part of the work: what is done with what was before, as a part of all."""
    on_progress(round((before + done) * scale))


class Blocks(EqualBlocks):
    """Blocks that exchange a flag per neuron."""

    @property
    def part(self) -> Part:
        """What a device has of everybody's values, and everybody's spikes."""
        return Part(self._own, self._add, self._exchange)

    def _own(self, x: jax.Array) -> jax.Array:
        return jax.lax.dynamic_slice_in_dim(jnp.pad(x, (0, self.missing)), self._first(), self.size)

    def _first(self) -> jax.Array:
        return jax.lax.axis_index(AXIS) * self.size

    def _add(self, noise: Callable[[jax.Array], jax.Array], I_syn: jax.Array) -> jax.Array:
        return I_syn + self._own(noise(jnp.zeros(self.neurons, I_syn.dtype)))

    def _exchange(self, own: jax.Array) -> jax.Array:
        return jax.lax.all_gather(own, AXIS, tiled=True)[: self.neurons]

    def connect(self, drawn: Drawing, on_progress: Callable[[int], None] = lambda done: None) -> Synapses:
        """The synapses onto each block, drawn by the process that has it; as much room for each."""
        parts = [drawn._replace(first=np.array(k * self.size, np.int32)) for k in range(self.devices)]
        counts = [int(source_ends(part, self.size)[-1]) for part in parts]
        devices = list(self.mesh.devices.flat)
        mine = [k for k, device in enumerate(devices) if device.process_index == jax.process_index()]
        here, done, blocks = sum(counts[k] for k in mine), 0, []
        for k in mine:
            on_part = partial(tell, on_progress, done, drawn.synapses / max(1, here))
            block = connect(parts[k], self.size, on_part, room=max(counts))
            arrays = block.data, block.indices, block.indptr
            blocks.append([jax.device_put(x[None], devices[k]) for x in arrays])
            done += counts[k]
        return Synapses(*(self._together(of_blocks) for of_blocks in zip(*blocks, strict=True)))

    def _together(self, blocks: Sequence[jax.Array]) -> jax.Array:
        """One array of those of the blocks, a row for each."""
        shape, sharding = (self.devices, *blocks[0].shape[1:]), NamedSharding(self.mesh, P(AXIS))
        return jax.make_array_from_single_device_arrays(shape, sharding, list(blocks))

    @property
    def placement(self) -> Placement:
        return Placement(self._place, self._around, self._gather)

    def _place(self, arguments: Arguments) -> Arguments:
        """Each array where its parts are wanted; there the synapses of `connect` are already."""
        state, buffer, wiring = arguments
        state_specs, wiring_specs = specs_of(state, wiring)
        wide = jax.tree.map(self._padded, state, state_specs)
        return (
            jax.tree.map(lambda x, spec: placed(x, self.mesh, spec), wide, state_specs),
            jax.tree.map(lambda x: placed(x, self.mesh, P()), buffer),
            jax.tree.map(
                lambda x, spec: x if spec == P(AXIS) else placed(x, self.mesh, spec), wiring, wiring_specs
            ),
        )

    def _padded(self, x: jax.Array, spec: P) -> jax.Array:
        """With neurons at the end whose spikes nobody is told of."""
        widths = [(0, self.missing if name == AXIS else 0) for name in spec]
        return jnp.pad(x, widths) if widths else x

    def _around(self, run: Loop) -> Loop:
        """A loop over steps of a part, on every device; what is recorded is the same on all of them."""

        def local(state: State, buffer: Buffer, wiring: Wiring) -> Any:
            recurrent, thalamic = map(self._here, (wiring.recurrent, wiring.thalamic))
            return run(state, buffer, wiring._replace(recurrent=recurrent, thalamic=thalamic))

        def everywhere(state: State, buffer: Buffer, wiring: Wiring) -> Any:
            specs = specs_of(state, wiring)
            # JAX cannot know that an all-gather's result is the same everywhere.
            return jax.shard_map(
                local,
                mesh=self.mesh,
                in_specs=(specs[0], P(), specs[1]),
                out_specs=(specs[0], P(), P()),
                check_vma=False,
            )(state, buffer, wiring)

        return everywhere

    def _here(self, synapses: Synapses | Drawing | None) -> Any:
        """Those onto the neurons of this device."""
        if isinstance(synapses, Drawing):
            return synapses._replace(first=self._first())
        return jax.tree.map(lambda x: x[0], synapses)

    def _gather(self, state: State) -> State:
        """Every array whole, on every device."""
        specs: Any = jax.tree.map(lambda x: x.sharding.spec, state)
        trim = partial(jax.tree.map, self._trimmed)
        same = NamedSharding(self.mesh, P())
        return jax.jit(lambda x: trim(x, specs), out_shardings=same)(state)

    def _trimmed(self, x: jax.Array, spec: P) -> jax.Array:
        return x[tuple(slice(self.neurons if name == AXIS else None) for name in spec)]
