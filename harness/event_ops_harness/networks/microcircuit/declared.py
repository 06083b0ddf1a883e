"""The network as a declaration, whose run is one call with the bits of `network.catalog_step`.

The thalamic pulse and synapses that are drawn anew are left to the steps of `network.py`.
"""

import jax
import numpy as np

from event_ops import CompactCSR, lif_expsyn_step
from event_ops.network import Network, PoissonInput, Population, Projection, Record
from event_ops.network import State as NetworkState
from event_ops_harness.networks.microcircuit.connectivity import BACKGROUND, Drawing, Synapses, key_of
from event_ops_harness.networks.microcircuit.model import Microcircuit, ModelError
from event_ops_harness.networks.microcircuit.network import (
    background_mean,
    constant_current,
    initial_state,
    neuron_parameters,
)
from event_ops_harness.networks.microcircuit.rows import SLOTS


def declared(model: Microcircuit, synapses: Synapses | Drawing, record: Record | None = None) -> Network:
    """Return the network of these synapses; NumPy arrays share their memory with it.

    Raises ModelError for synapses that are not stored.
    """
    if isinstance(synapses, Drawing):
        raise ModelError("synapses that are drawn anew have no run in one call; store them, or run steps")
    entries, indptr, scale = jax.tree.map(jax.device_put, synapses)
    shape = model.neurons * SLOTS, model.neurons
    A = CompactCSR(entries, indptr, scale, shape=shape)
    neurons = Population(
        model.neurons, lif_expsyn_step, I_e=constant_current(model), **neuron_parameters(model)
    )
    mean = background_mean(model)
    background = [PoissonInput("I_syn", weight=np.float32(model.weight_ext), mean=mean)] * bool(mean.any())
    return Network(neurons, [Projection(A, "I_syn", slots=SLOTS)], background, record)


def first_state(network: Network, model: Microcircuit, seed: int) -> NetworkState:
    """Return the first state of a seed, that of the steps, with its background."""
    begin = initial_state(model, seed)
    states = {name: getattr(begin, name) for name in ("V_m", "refractory", "I_syn")}
    return network.state(states, seed=key_of(seed, BACKGROUND))
