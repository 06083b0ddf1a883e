"""Where the neurons of a network are: all on one device, or in equal blocks on several."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import event_ops

AXIS = "devices"


class OneDevice:
    """Keep all neurons together: the requests of a step and a loop to several devices change nothing here."""

    def own(self, x: jax.Array) -> jax.Array:
        """Take this device's values out of all neurons'."""
        return x

    def add(self, draw: Callable[[jax.Array], jax.Array], current: jax.Array) -> jax.Array:
        """Add the input that `draw(total)` adds for all neurons to the current of this device's."""
        return draw(current)

    def exchange(self, spikes: jax.Array, backend: str | None) -> jax.Array:
        """Collect the spikes of all neurons from each device's."""
        return spikes

    def place(self, state: Any, buffer: Any, wiring: Any) -> tuple[Any, Any, Any]:
        """Put the arguments of a loop where it runs."""
        return state, buffer, wiring

    def around(self, loop: Callable[..., Any]) -> Callable[..., Any]:
        """Make the loop of one device that of all."""
        return loop

    def gather(self, state: Any) -> Any:
        """Make the state in blocks that of one device."""
        return state


ONE_DEVICE = OneDevice()


@dataclass(frozen=True)
class EqualBlocks(OneDevice):
    """Give each device a block of consecutive neurons, the last of them filled up with idle ones.

    A network says how its arrays are split, and which part of the wiring a device reads.
    """

    neurons: int
    mesh: Mesh

    @property
    def devices(self) -> int:
        return self.mesh.shape[AXIS]

    @property
    def size(self) -> int:
        return -(-self.neurons // self.devices)

    @property
    def idle(self) -> int:
        """The number of idle neurons in the last block."""
        return self.devices * self.size - self.neurons

    @property
    def first(self) -> jax.Array:
        """The first neuron of this device, within a loop."""
        return jax.lax.axis_index(AXIS) * self.size

    @property
    def here(self) -> list[int]:
        """The numbers of the blocks of this process."""
        owners = [device.process_index for device in self.mesh.devices.flat]
        return [k for k, owner in enumerate(owners) if owner == jax.process_index()]

    def stacked(self, blocks: Sequence[np.ndarray]) -> jax.Array:
        """Make one array, a row for each block, of the arrays of the blocks that are here."""
        shape, devices = (self.devices, *blocks[0].shape), list(self.mesh.devices.flat)
        rows = [jax.device_put(x[None], devices[k]) for k, x in zip(self.here, blocks, strict=True)]
        return jax.make_array_from_single_device_arrays(shape, NamedSharding(self.mesh, P(AXIS)), rows)

    def split(self, state: Any, wiring: Any) -> tuple[Any, Any]:
        """Return the partition specs of both."""
        raise NotImplementedError

    def local(self, wiring: Any) -> Any:
        """Return the wiring that the step reads on this device."""
        raise NotImplementedError

    def own(self, x: jax.Array) -> jax.Array:
        return jax.lax.dynamic_slice_in_dim(jnp.pad(x, (0, self.idle)), self.first, self.size)

    def add(self, draw: Callable[[jax.Array], jax.Array], current: jax.Array) -> jax.Array:
        return current + self.own(draw(jnp.zeros(self.neurons, current.dtype)))

    @property
    def exchanged_bytes(self) -> int:
        """The bytes that a device receives in a step, a bit for each neuron."""
        return (self.devices - 1) * 4 * -(-self.size // 32)

    def exchange(self, spikes: jax.Array, backend: str | None) -> jax.Array:
        words = jax.lax.all_gather(event_ops.pack_events(spikes, backend=backend), AXIS)
        unpack = jax.vmap(partial(event_ops.unpack_events, n=self.size, backend=backend))
        return unpack(words).reshape(-1)[: self.neurons]

    def place(self, state: Any, buffer: Any, wiring: Any) -> tuple[Any, Any, Any]:
        """Split the state; copy all that is not on the mesh yet to every device."""
        specs, _ = self.split(state, wiring)
        split = jax.tree.map(lambda x, spec: placed(self._padded(x, spec), self.mesh, spec), state, specs)
        return split, *jax.tree.map(self._everywhere, (buffer, wiring))

    def _padded(self, x: jax.Array, spec: P) -> jax.Array:
        """Append idle neurons, which are as the last neuron is."""
        widths = [(0, self.idle if name == AXIS else 0) for name in spec]
        return jnp.pad(x, widths, mode="edge") if widths else x

    def _everywhere(self, x: jax.Array) -> jax.Array:
        is_placed = isinstance(x.sharding, NamedSharding) and x.sharding.mesh == self.mesh
        return x if is_placed else placed(x, self.mesh, P())

    def around(self, loop: Callable[..., Any]) -> Callable[..., Any]:
        """Run the loop on every device; each records all spikes, and the traces of the first device."""

        def block(state: Any, buffer: Any, wiring: Any) -> Any:
            state, buffer, (counts, traces) = loop(state, buffer, self.local(wiring))
            return state, buffer, (counts, jax.tree.map(of_first_device, traces))

        def everywhere(state: Any, buffer: Any, wiring: Any) -> Any:
            states, wirings = self.split(state, wiring)
            specs = {"in_specs": (states, P(), wirings), "out_specs": (states, P(), P())}
            # What is recorded is the same on all devices, which JAX cannot know of an all-gather's result.
            run = jax.shard_map(block, mesh=self.mesh, **specs, check_vma=False)
            return run(state, buffer, wiring)

        return everywhere

    def gather(self, state: Any) -> Any:
        """Return every array whole, on every device."""
        specs: Any = jax.tree.map(lambda x: x.sharding.spec, state)
        trim = partial(jax.tree.map, self._trimmed)
        same = NamedSharding(self.mesh, P())
        return jax.jit(lambda x: trim(x, specs), out_shardings=same)(state)

    def _trimmed(self, x: jax.Array, spec: P) -> jax.Array:
        return x[tuple(slice(self.neurons if name == AXIS else None) for name in spec)]


def of_first_device(x: jax.Array) -> jax.Array:
    """Return the array of the first device, on every device."""
    return jax.lax.psum(jnp.where(jax.lax.axis_index(AXIS) == 0, x, 0), AXIS)


def mesh_of(devices: int, processes: int) -> Mesh:
    """Return a mesh of equally many devices of every process, process by process."""
    each = devices // processes
    chosen = [device for p in range(processes) for device in jax.local_devices(process_index=p)[:each]]
    return jax.make_mesh((devices,), (AXIS,), (AxisType.Auto,), devices=chosen)


def placed(x: Any, mesh: Mesh, spec: P) -> jax.Array:
    """Split an array that every process has over the devices of all."""
    host = np.asarray(x)
    return jax.make_array_from_callback(host.shape, NamedSharding(mesh, spec), lambda at: host[at])
