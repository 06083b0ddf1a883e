"""The neurons of a network by device."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

AXIS = "devices"


@dataclass(frozen=True)
class EqualBlocks:
    """Blocks of as many consecutive neurons, the last of them filled up with idle ones."""

    neurons: int
    mesh: Mesh

    @property
    def devices(self) -> int:
        return self.mesh.shape[AXIS]

    @property
    def size(self) -> int:
        return -(-self.neurons // self.devices)

    @property
    def missing(self) -> int:
        """So many are idle."""
        return self.devices * self.size - self.neurons


def mesh_of(devices: int, processes: int) -> Mesh:
    """As many devices of every process: a block of the mesh for each."""
    each = devices // processes
    chosen = [device for p in range(processes) for device in jax.local_devices(process_index=p)[:each]]
    return jax.make_mesh((devices,), (AXIS,), (AxisType.Auto,), devices=chosen)


def placed(x: Any, mesh: Mesh, spec: P) -> jax.Array:
    """An array that every process has, over the devices of all."""
    host = np.asarray(x)
    return jax.make_array_from_callback(host.shape, NamedSharding(mesh, spec), lambda at: host[at])
