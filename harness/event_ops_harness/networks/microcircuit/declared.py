"""The network as a declaration, whose run is one call with the bits of `network.catalog_step`.

Synapses that are drawn anew, and several devices, are left to the steps of `network.py`.
"""

from dataclasses import replace
from typing import Any, Final

import jax

from event_ops import CompactCSR, lif_expsyn_step
from event_ops.network import Network, Population, Projection, Record, parrot
from event_ops.network import State as NetworkState
from event_ops_harness.networks.microcircuit.checkpoint import Arrays, resumed
from event_ops_harness.networks.microcircuit.connectivity import BACKGROUND, Drawing, Synapses, key_of
from event_ops_harness.networks.microcircuit.model import Microcircuit, ModelError
from event_ops_harness.networks.microcircuit.network import (
    CORTEX,
    THALAMUS,
    constant_current,
    initial_potentials,
    inputs_of,
    neuron_parameters,
    recorder_of,
)
from event_ops_harness.networks.microcircuit.rows import SLOTS
from event_ops_harness.networks.shared.simulation import Simulation

REST: Final = {"refractory": 0.0, "I_syn": 0.0}


def declared(
    model: Microcircuit,
    synapses: Synapses | Drawing,
    record: Record | None = None,
    *,
    thalamic: Synapses | None = None,
    pulse: float | None = None,
) -> Network:
    """Return the network of these synapses; NumPy arrays share their memory with it.

    With synapses of thalamic neurons there is a second population, of parrots, which spike from `pulse` in s
    on. Raises ModelError for synapses that are not stored.
    """
    if isinstance(synapses, Drawing):
        raise ModelError("synapses that are drawn anew have no run in one call; store them, or run steps")
    neurons = Population(
        model.neurons, lif_expsyn_step, I_e=constant_current(model), **neuron_parameters(model)
    )
    inputs = inputs_of(model, pulse)
    if thalamic is None:
        return Network(neurons, [projection(model.neurons, model, synapses)], inputs, record)
    populations = {CORTEX: neurons, THALAMUS: Population(model.thalamic_neurons, parrot)}
    projections = [
        projection(populations[source].size, model, each, source=source, target=CORTEX)
        for source, each in ((CORTEX, synapses), (THALAMUS, thalamic))
    ]
    return Network(populations, projections, inputs, record)


def projection(sources: int, model: Microcircuit, synapses: Synapses, **ends: Any) -> Projection:
    """Return the projection of a matrix onto all neurons; `ends`: names of the source and the target."""
    A = CompactCSR(*jax.tree.map(jax.device_put, synapses), shape=(sources * SLOTS, model.neurons))
    return Projection(A, "I_syn", slots=SLOTS, **ends)


def first_state(network: Network, model: Microcircuit, seed: int) -> NetworkState:
    """Return the first state of a seed, that of the steps, with its background."""
    states: Any = {"V_m": initial_potentials(model, seed), **REST}
    if THALAMUS in network.names:
        states = {CORTEX: states, THALAMUS: {"arrived": 0.0}}
    return network.state(states, seed=key_of(seed, BACKGROUND))


def simulation(
    model: Microcircuit,
    synapses: Synapses | Drawing,
    seed: int,
    steps: int,
    arrays: Arrays | None = None,
    **pulse: Any,
) -> Simulation:
    """Return a simulation in one call for each chunk, which goes on from the arrays of a checkpoint."""
    recorder = recorder_of(model, capacity=model.neurons)
    network = declared(model, synapses, Record(spikes=recorder.buffer().ids.size), **pulse)
    state = first_state(network, model, seed)
    state = state if arrays is None else resumed(state, arrays)
    return Simulation(network, state, network, replace(recorder, first_step=int(state.step)), steps)
