"""Run the network, and keep its spikes and what its synapses learned."""

import numpy as np

from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.hpc_benchmark.network import catalog_step, drawn
from event_ops_harness.networks.shared.simulation import Recorder, Recording, simulate


def run(
    model: HpcBenchmark, seed: int, *, seconds: float, backend: str | None = None
) -> tuple[Recording, np.ndarray]:
    """Simulate; return the recording, and the weights in pA of the synapses that learn, by source."""
    state, synapses = drawn(model, seed)
    step = catalog_step(model, seed, capacity=model.neurons, backend=backend)
    recorder = Recorder(model.neurons, capacity=model.neurons, refractory_steps=round(model.t_ref / model.dt))
    state, recording = simulate(step, state, synapses, recorder, steps=model.steps(seconds))
    return recording, np.asarray(state.w)
