"""A balanced network: declared for a run in one call, and as steps of operators, also over several devices.

The state has V_m in mV, refractory in ms, and what the spikes of each channel have left, g_ex and g_in, by
name; all float32 (N,). Spikes act in their own step, after the neurons.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

import event_ops
from event_ops import network
from event_ops_harness.networks.balanced.connectivity import Connectivity
from event_ops_harness.networks.balanced.network import (
    TRACED_NEURONS,
    BalancedParameters,
    capacity_of,
    recorder_of,
)
from event_ops_harness.networks.shared.blocks import AXIS, ONE_DEVICE, EqualBlocks, OneDevice
from event_ops_harness.networks.shared.simulation import Simulation, Spikes, Step

State = dict[str, jax.Array]
CHANNELS: Final = "g_ex", "g_in"


class Synapses(NamedTuple):
    """The matrices of both channels, rows = source neurons.

    What each has left is an array of its own, updated in place, as one of both channels could not be.
    """

    ex: event_ops.CSR
    inh: event_ops.CSR


@dataclass(frozen=True)
class BalancedNetwork:
    """Hold the neuron, the weights and the first state of a balanced network.

    Args:
        name: of the program.
        neuron: a model with the states V_m, g_ex and g_in, a step of the catalog or of `neuron_step`.
        operators: what its steps are made of.
        parameters: of the neuron, by name.
        weights: of the entries of a channel, from those of the connectivity and the weight of one unit.
        drawn: the first V_m, g_ex and g_in of so many neurons.
    """

    name: str
    model: BalancedParameters
    neuron: Callable[..., Any]
    operators: tuple[str, ...]
    parameters: Callable[[Connectivity, Any], dict[str, float]]
    weights: Callable[[np.ndarray, float], np.ndarray]
    drawn: Callable[[Any, np.random.Generator, int], tuple[Any, Any, Any]]

    def initial_state(self, connectivity: Connectivity, seed: int) -> State:
        """Draw the first state; nothing is refractory."""
        # Another stream than that of the synapses, which are drawn by the seed alone.
        n, rng = connectivity.neurons, np.random.default_rng([seed, 1])
        V_m, g_ex, g_in = self.drawn(self.model, rng, n)
        each = {"V_m": V_m, "refractory": np.zeros(n), "g_ex": g_ex, "g_in": g_in}
        return {name: jnp.asarray(x, jnp.float32) for name, x in each.items()}

    def synapses(self, connectivity: Connectivity, columns: int | None = None) -> Synapses:
        """Return the matrices, of as many columns as there are neurons, or more."""
        shape, matrices = (connectivity.neurons, columns or connectivity.neurons), []
        for k, scale in enumerate(connectivity.channel_scale):
            data, *structure = connectivity.of_channel(k)
            matrices.append(event_ops.CSR(self.weights(data, scale), *structure, shape=shape))
        return Synapses(*matrices)

    def population(self, connectivity: Connectivity) -> network.Population:
        """Return the neurons."""
        parameters = self.parameters(connectivity, self.model)
        return network.Population(connectivity.neurons, self.neuron, **parameters)

    def declared(self, connectivity: Connectivity, record: network.Record | None = None) -> network.Network:
        """Return the network as a declaration, whose run is one call."""
        matrices = zip(self.synapses(connectivity), CHANNELS, strict=True)
        projections = [network.Projection(A, channel, delay=0) for A, channel in matrices]
        return network.Network(self.population(connectivity), projections, record=record)

    def catalog_step(
        self, connectivity: Connectivity, backend: str | None = None, placement: OneDevice = ONE_DEVICE
    ) -> Step:
        """Integrate, deliver the spikes, list them.

        With blocks on several devices, state and synapses are those of one block, and the listed spikes are
        those of all neurons.
        """
        n, move = connectivity.neurons, self.population(connectivity).step
        compact = partial(event_ops.spike_compact, capacity=capacity_of(n), backend=backend)

        def add(A: event_ops.CSR, spikes: jax.Array, g: jax.Array) -> jax.Array:
            # A history of one step: spikes arrive in the step in which they are fired.
            options = {"shape": (n, g.size), "initial": g, "backend": backend}
            return event_ops.csr_event_arrivals(spikes[None], A.data, A.indices, A.indptr, 0, **options)

        def step(state: State, synapses: Synapses) -> tuple[State, Spikes]:
            state, block_spikes = move(state, {"backend": backend})
            spikes = placement.exchange(block_spikes, backend)
            for A, channel in zip(synapses, CHANNELS, strict=True):
                state[channel] = add(A, spikes, state[channel])
            return state, Spikes(*compact(spikes))

        return step

    def build(
        self,
        connectivity: Connectivity,
        seed: int,
        steps: int,
        *,
        backend: str | None = None,
        placement: OneDevice = ONE_DEVICE,
    ) -> Simulation:
        """Build the network of a connectivity, declared; of steps over several devices, or on a backend."""
        n, state = connectivity.neurons, self.initial_state(connectivity, seed)
        if backend is None and placement is ONE_DEVICE:
            recorder = recorder_of(n, self.model, capacity=n)
            traced = {"V_m": np.arange(min(n, TRACED_NEURONS))}
            record = network.Record(spikes=recorder.buffer().ids.size, states=traced)
            declared = self.declared(connectivity, record)
            return Simulation(declared, declared.state(state), declared, recorder, steps)
        step = self.catalog_step(connectivity, backend, placement)
        synapses = (
            placement.connect(self, connectivity)
            if isinstance(placement, Blocks)
            else self.synapses(connectivity)
        )
        return Simulation(step, state, synapses, recorder_of(n, self.model), steps, placement)


class Blocks(EqualBlocks):
    """Split all arrays of the state, and the matrix of each channel by target."""

    def split(self, state: State, wiring: Any) -> tuple[Any, Any]:
        return dict.fromkeys(state, P(AXIS)), P(AXIS)

    def connect(self, of: BalancedNetwork, connectivity: Connectivity) -> tuple[event_ops.ShardedCSR, ...]:
        """Split the synapses by target."""
        columns = self.size * self.devices
        starts = range(0, columns + 1, self.size)
        matrices = of.synapses(connectivity, columns)
        return tuple(event_ops.shard_csr(A.T, self.mesh, AXIS, starts=starts) for A in matrices)

    def local(self, wiring: tuple[event_ops.ShardedCSR, ...]) -> Synapses:
        return Synapses(*(A.local().T for A in wiring))
