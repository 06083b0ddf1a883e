"""One time step of the network, built from the catalog's operators and from a rule of one synapse."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import event_ops
from event_ops import plasticity
from event_ops_harness.networks.balanced.connectivity import Connectivity
from event_ops_harness.networks.inhibitory_stdp.model import InhibitoryStdpParameters
from event_ops_harness.networks.shared.simulation import Spikes, Step

OPERATORS = (
    "lif_cond_exp_step",
    "csr_event_arrivals",
    "plasticity_on_pre",
    "plasticity_on_post",
    "spike_compact",
)
NEURON = ("tau_syn_ex", "tau_syn_in", "E_L", "g_L", "C_m", "E_ex", "E_in", "I_e", "V_th", "V_reset", "dt")


class State(NamedTuple):
    V_m: jax.Array  # float32 (N,), mV
    refractory: jax.Array  # float32 (N,), ms left
    g_ex: jax.Array  # float32 (N,), nS
    g_in: jax.Array  # float32 (N,), nS
    spikes: jax.Array  # bool (N,), of the last step
    x: jax.Array  # float32 (N,), the trace of a neuron's own spikes
    w: jax.Array  # float32 (inhibitory synapses,), nS
    t: jax.Array  # int32 0-d, steps done


class Synapses(NamedTuple):
    """Hold what does not change: rows are source neurons, columns are targets."""

    ex: event_ops.CSR
    rows: tuple[jax.Array, jax.Array]  # of the inhibitory synapses: indices, indptr
    columns: tuple[jax.Array, jax.Array, jax.Array]  # the same ordered by target: rows, indptr, permutation


def inhibitory_pre(
    w: jax.Array, *, x_post: jax.Array, eta_post: jax.Array, alpha: jax.Array, w_max_post: jax.Array
) -> jax.Array:
    """Change a synapse at a presynaptic spike."""
    return jnp.clip(w + eta_post * (x_post - alpha), 0, w_max_post)


def inhibitory_post(
    w: jax.Array, *, x_pre: jax.Array, eta_post: jax.Array, w_max_post: jax.Array
) -> jax.Array:
    """Change a synapse at a postsynaptic spike."""
    return jnp.clip(w + eta_post * x_pre, 0, w_max_post)


def on_device(connectivity: Connectivity, model: InhibitoryStdpParameters) -> Synapses:
    """Split the matrix, whose excitatory rows come first, and index the inhibitory synapses by target."""
    n, indices, indptr = connectivity.neurons, connectivity.indices, connectivity.indptr
    first = indptr[model.excitatory_count(n)]  # inhibitory synapse
    ex = np.float32(model.weight_ex), indices[:first], np.minimum(indptr, first)
    rows = jnp.asarray(indices[first:] - np.int32(n)), jnp.asarray(np.maximum(indptr, first) - first)
    columns = event_ops.csr_tocsc(*rows, shape=(n, n))
    return Synapses(event_ops.CSR(*map(jnp.asarray, ex), shape=(n, n)), rows, columns)


def initial_state(
    connectivity: Connectivity, synapses: Synapses, model: InhibitoryStdpParameters, seed: int
) -> State:
    """Draw potentials between reset and threshold; weights that will learn are 0."""
    n, indices = connectivity.neurons, synapses.rows[0]
    V_m = np.random.default_rng([seed, 1]).uniform(model.V_reset, model.V_th, n)
    w = jnp.where(indices < model.excitatory_count(n), 0, jnp.float32(model.weight_in))
    refractory, g_ex, g_in, x = (jnp.zeros(n, jnp.float32) for _ in range(4))
    spikes = jnp.zeros(n, bool)
    return State(jnp.asarray(V_m, jnp.float32), refractory, g_ex, g_in, spikes, x, w, jnp.int32(0))


def catalog_step(
    neurons: int, model: InhibitoryStdpParameters, capacity: int, backend: str | None = None
) -> Step:
    """Integrate, let synapses learn and deliver the spikes in the order of Brian2, list the spikes.

    Of neurons that spike in one step, a presynaptic one does so first: it does not see the postsynaptic
    spike, and what it sends has the weight before it. Synapses therefore learn of postsynaptic spikes when
    the next step begins, as weights that nobody reads any more change in place.
    """
    neuron = {name: getattr(model, name) for name in NEURON} | {"t_ref": model.held_time}
    lif_step = partial(event_ops.lif_cond_exp_step, **neuron, backend=backend)
    compact = partial(event_ops.spike_compact, capacity=capacity, backend=backend)
    onset, decay = round(model.onset / model.dt), np.float32(np.exp(-model.dt / model.tau_stdp))
    everywhere = {"shape": (neurons, neurons), "backend": backend}
    arrivals = partial(event_ops.csr_event_arrivals, slot=0, **everywhere)
    excitatory = jnp.arange(neurons) < model.excitatory_count(neurons)
    # Synapses onto inhibitory neurons keep what they have.
    limits = {"w_max_post": jnp.where(excitatory, jnp.float32(model.w_max), jnp.inf), **everywhere}

    def eta(t: jax.Array) -> jax.Array:
        """Return the learning rate of each postsynaptic neuron in step t."""
        return jnp.where(excitatory & (t >= onset), jnp.float32(model.learning_rate), 0)

    def step(state: State, synapses: Synapses) -> tuple[State, Spikes]:
        post = {"x_pre": state.x, "eta_post": eta(state.t - 1)}
        w = plasticity.on_post(inhibitory_post, state.w, *synapses.columns, state.spikes, **post, **limits)
        V_m, refractory, g_ex, g_in, spikes = lif_step(*state[:4])
        x = state.x * decay
        pre = {"x_post": x, "eta_post": eta(state.t), "alpha": model.alpha}
        w = plasticity.on_pre(inhibitory_pre, w, *synapses.rows, spikes, **pre, **limits)
        now, ex = spikes[None], synapses.ex  # a history of one step: spikes arrive when they are fired
        g_ex = arrivals(now, ex.data, ex.indices, ex.indptr, initial=g_ex)
        g_in = arrivals(now, w, *synapses.rows, initial=g_in)
        x = x + spikes.astype(x.dtype)
        return State(V_m, refractory, g_ex, g_in, spikes, x, w, state.t + 1), Spikes(*compact(spikes))

    return step
