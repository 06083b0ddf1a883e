"""The network over several devices: each has a block of the neurons, and the synapses onto them.

A step communicates who spiked, and nothing else: one all-gather of a bit per neuron. What a neuron is sent
is added in the order of the one-device step, so that the spikes are the same ones.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

import event_ops
from event_ops_harness.networks.cuba.connectivity import Connectivity
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.cuba.network import State, Synapses, catalog_step, initial_state
from event_ops_harness.networks.cuba.simulation import (
    Buffers,
    Recording,
    chunk_loop,
    compiled,
    make_buffers,
    record,
    record_step,
)
from event_ops_harness.networks.shared.blocks import AXIS, EqualBlocks, placed

STATE: Any = State._make((P(AXIS), P(AXIS), P(None, AXIS)))  # how its arrays are split


class Blocks(EqualBlocks):
    """Blocks that exchange their spikes packed."""

    @property
    def exchanged_bytes(self) -> int:
        """What a device receives in a step."""
        return (self.devices - 1) * 4 * -(-self.size // 32)

    def padded(self, x: jax.Array) -> Any:
        """The same with idle neurons in the last axis, which are as the last neuron is."""
        host = np.asarray(x)
        return np.pad(host, [(0, 0)] * (host.ndim - 1) + [(0, self.missing)], mode="edge")


def synapses_of(connectivity: Connectivity, blocks: Blocks) -> event_ops.ShardedCSR:
    """Row of the matrix: a channel of a target neuron. Those of a device are both channels of its block."""
    channel, target = np.divmod(connectivity.indices, np.int32(blocks.neurons))
    device, place = np.divmod(target, np.int32(blocks.size))
    rows = 2 * blocks.size * blocks.devices
    columns = (2 * device + channel) * np.int32(blocks.size) + place
    A = event_ops.CSR(connectivity.data, columns, connectivity.indptr, shape=(blocks.neurons, rows))
    starts = range(0, rows + 1, 2 * blocks.size)
    return event_ops.shard_csr(A.T, blocks.mesh, AXIS, starts=starts)


def exchange_of(blocks: Blocks, backend: str | None) -> Callable[[jax.Array], jax.Array]:
    """The spikes of all neurons of those of one device, packed on their way."""
    unpack = jax.vmap(partial(event_ops.unpack_events, n=blocks.size, backend=backend))

    def exchange(own: jax.Array) -> jax.Array:
        words = jax.lax.all_gather(event_ops.pack_events(own, backend=backend), AXIS)
        return unpack(words).reshape(-1)[: blocks.neurons]

    return exchange


def sharded_chunk(
    connectivity: Connectivity, model: CubaParameters, blocks: Blocks, backend: str | None
) -> Callable[..., tuple[State, Buffers]]:
    """The loop of `simulation.chunk_loop` on every device; each records all spikes, the first the traces."""
    loop = chunk_loop(catalog_step(connectivity, model, backend, exchange_of(blocks, backend)), record_step)

    def part(todo: jax.Array, state: State, sharded: event_ops.ShardedCSR, buffers: Buffers):
        A = sharded.local()
        state, buffers = loop(todo, state, Synapses(A.data, A.indices, A.indptr), buffers)
        own = jnp.where(jax.lax.axis_index(AXIS) == 0, buffers.V_m, 0)
        return state, buffers._replace(V_m=jax.lax.psum(own, AXIS))

    def run(todo: jax.Array, state: State, synapses: event_ops.ShardedCSR, buffers: Buffers):
        # Whatever is recorded is the same on all devices, which JAX cannot know of an all-gather's result.
        specs = {"in_specs": (P(), STATE, P(AXIS), P()), "out_specs": (STATE, P()), "check_vma": False}
        return jax.shard_map(part, mesh=blocks.mesh, **specs)(todo, state, synapses, buffers)

    return run


def network(
    connectivity: Connectivity, model: CubaParameters, blocks: Blocks, seed: int
) -> tuple[State, event_ops.ShardedCSR, Buffers]:
    """State, synapses and empty buffers on the devices."""
    state = jax.tree.map(
        lambda x, spec: placed(blocks.padded(x), blocks.mesh, spec),
        initial_state(connectivity, model, seed),
        STATE,
    )
    buffers = make_buffers(blocks.neurons, model)
    buffers = buffers._replace(V_m=buffers.V_m[:, : blocks.size])
    buffers = jax.tree.map(lambda x: placed(x, blocks.mesh, P()), buffers)
    return state, synapses_of(connectivity, blocks), buffers


def simulate_sharded(
    connectivity: Connectivity,
    model: CubaParameters,
    blocks: Blocks,
    *,
    seed: int,
    backend: str | None,
    steps: int,
    on_chunk: Callable[[int], None] = lambda done: None,
) -> Recording:
    """`simulation.simulate` of the catalog's step over the devices of `blocks`."""
    arguments = network(connectivity, model, blocks, seed)
    run = compiled(sharded_chunk(connectivity, model, blocks, backend), *arguments)
    return record(run, *arguments, neurons=blocks.neurons, steps=steps, on_chunk=on_chunk)
