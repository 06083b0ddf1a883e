"""Draw a network and run it; keep its spikes, and what its synapses learned."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from event_ops_harness.networks.balanced.connectivity import random_connectivity
from event_ops_harness.networks.inhibitory_stdp.model import InhibitoryStdpParameters
from event_ops_harness.networks.inhibitory_stdp.network import (
    State,
    Synapses,
    catalog_step,
    initial_state,
    on_device,
)
from event_ops_harness.networks.shared.simulation import Recorder, Recording, simulate


class Simulated(NamedTuple):
    recording: Recording
    learned: np.ndarray  # float32, the weights onto excitatory neurons, in nS
    synapses: int


def drawn(neurons: int, model: InhibitoryStdpParameters, seed: int) -> tuple[State, Synapses]:
    """Draw the synapses and the first state."""
    connectivity = random_connectivity(neurons, model, seed)
    synapses = on_device(connectivity, model)
    return initial_state(connectivity, synapses, model, seed), synapses


def run(
    neurons: int,
    model: InhibitoryStdpParameters,
    seed: int,
    *,
    seconds: float,
    backend: str | None = None,
    on_chunk: Callable[[int], Any] = lambda done: None,
) -> Simulated:
    """Simulate; before learning begins many neurons spike at once, and all are listed."""
    state, synapses = drawn(neurons, model, seed)
    step = catalog_step(neurons, model, capacity=neurons, backend=backend)
    recorder = Recorder(neurons, capacity=neurons, refractory_steps=int(model.t_ref / model.dt))
    steps = model.steps(seconds)
    state, recording = simulate(step, state, synapses, recorder, steps=steps, on_chunk=on_chunk)
    targets, w = np.asarray(synapses.rows[0]), np.asarray(state.w)
    learned = w[targets < model.excitatory_count(neurons)]
    return Simulated(recording, learned, synapses.ex.indices.size + w.size)
