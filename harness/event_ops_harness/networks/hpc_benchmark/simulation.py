"""Run the network, and keep its spikes and what its synapses learned."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.hpc_benchmark.network import State, Synapses, catalog_step, drawn
from event_ops_harness.networks.shared.simulation import Recorder, Recording, Step, simulate

DRIVEN_MV = 100.0  # far above any threshold


def run(
    model: HpcBenchmark,
    seed: int,
    *,
    seconds: float,
    backend: str | None = None,
    on_chunk: Callable[[int], Any] = lambda done: None,
) -> tuple[Recording, np.ndarray]:
    """Simulate; return the recording, and the weights in pA of the synapses that learn, by source.

    The weights are those that a spike right after the recording is sent with, as in NEST, which brings a
    synapse up to date when its source spikes.
    """
    state, synapses = drawn(model, seed)
    step = catalog_step(model, seed, capacity=model.neurons, backend=backend)
    recorder = Recorder(model.neurons, capacity=model.neurons, refractory_steps=round(model.t_ref / model.dt))
    state, recording = simulate(
        step, state, synapses, recorder, steps=model.steps(seconds), on_chunk=on_chunk
    )
    return recording, np.asarray(if_all_spike(step, state, synapses).w)


def if_all_spike(step: Step, state: State, synapses: Synapses) -> State:
    """Return the state after one more step, in which each neuron that is not refractory spikes."""
    driven = state._replace(V_m=jnp.full_like(state.V_m, DRIVEN_MV))
    return jax.jit(lambda state: step(state, synapses)[0])(driven)
