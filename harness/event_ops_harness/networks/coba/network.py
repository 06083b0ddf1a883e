"""One time step of the network, built from the catalog's operators."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import event_ops
from event_ops_harness.networks.balanced.connectivity import Connectivity
from event_ops_harness.networks.balanced.simulation import capacity_of
from event_ops_harness.networks.coba.model import CobaParameters
from event_ops_harness.networks.shared.blocks import ONE_DEVICE, OneDevice
from event_ops_harness.networks.shared.simulation import Spikes, Step

OPERATORS = ("lif_cond_exp_step", "csr_event_arrivals", "spike_compact")
NEURON = ("tau_syn_ex", "tau_syn_in", "E_L", "g_L", "C_m", "E_ex", "E_in", "V_th", "V_reset", "dt")


class State(NamedTuple):
    V_m: jax.Array  # float32 (N,), mV
    refractory: jax.Array  # float32 (N,), ms left
    g_ex: jax.Array  # float32 (N,), nS
    g_in: jax.Array  # float32 (N,), nS


class Synapses(NamedTuple):
    """The matrices of both channels, rows = source neurons, in nS.

    Each conductance is an array of its own, updated in place, as one of both channels could not be.
    """

    ex: event_ops.CSR
    inh: event_ops.CSR


def initial_state(connectivity: Connectivity, model: CobaParameters, seed: int) -> State:
    """Draw potentials and conductances; nothing is refractory."""
    n, rng = connectivity.neurons, np.random.default_rng([seed, 1])
    V_m = rng.normal(model.V_mean, model.V_sd, n)
    g_ex = np.maximum(rng.normal(model.g_ex_mean, model.g_ex_sd, n), 0)
    g_in = np.maximum(rng.normal(model.g_in_mean, model.g_in_sd, n), 0)
    return State(*(jnp.asarray(x, jnp.float32) for x in (V_m, np.zeros(n), g_ex, g_in)))


def channels(connectivity: Connectivity, columns: int) -> tuple[event_ops.CSR, ...]:
    """Return the excitatory and the inhibitory matrix, of at least N columns."""
    neurons, weights = connectivity.neurons, np.abs(connectivity.data)
    channel, target = np.divmod(connectivity.indices, np.int32(neurons))
    matrices = []
    for k, scale in enumerate(connectivity.channel_scale):
        chosen = channel == k
        before = np.concatenate([[0], np.cumsum(chosen, dtype=np.int32)])
        data = np.float32(scale) * (weights[chosen] if weights.ndim else weights)
        parts = data, target[chosen], before[connectivity.indptr].astype(np.int32)
        matrices.append(event_ops.CSR(*parts, shape=(neurons, columns)))
    return tuple(matrices)


def on_device(connectivity: Connectivity) -> Synapses:
    """Return the matrices of one device."""
    return Synapses(*channels(connectivity, connectivity.neurons))


def catalog_step(
    connectivity: Connectivity,
    model: CobaParameters,
    backend: str | None,
    placement: OneDevice = ONE_DEVICE,
) -> Step:
    """Integrate, deliver the spikes to the conductances, list the spikes.

    With blocks on several devices, state and synapses are those of one block, and the listed spikes are those
    of all neurons.
    """
    neuron = {name: getattr(model, name) for name in NEURON} | {"t_ref": model.held_time}
    lif_step = partial(event_ops.lif_cond_exp_step, **neuron, backend=backend)
    compact = partial(event_ops.spike_compact, capacity=capacity_of(connectivity.neurons), backend=backend)

    def add(A: event_ops.CSR, spikes: jax.Array, g: jax.Array) -> jax.Array:
        # A history of one step: spikes arrive in the step in which they are fired.
        options = {"shape": (connectivity.neurons, g.size), "initial": g, "backend": backend}
        return event_ops.csr_event_arrivals(spikes[None], A.data, A.indices, A.indptr, 0, **options)

    def step(state: State, synapses: Synapses) -> tuple[State, Spikes]:
        V_m, refractory, g_ex, g_in, own = lif_step(*state)
        spikes = placement.exchange(own, backend)
        g_ex, g_in = add(synapses.ex, spikes, g_ex), add(synapses.inh, spikes, g_in)
        return State(V_m, refractory, g_ex, g_in), Spikes(*compact(spikes))

    return step
