"""Parameters of the network with inhibitory plasticity.

    C_m        dV/dt    = g_L * (E_L - V) + g_ex * (E_ex - V) + g_in * (E_in - V) + I_e   (held, refractory)
    tau_syn_ex dg_ex/dt = -g_ex,    g_ex += weight_ex        at each excitatory spike
    tau_syn_in dg_in/dt = -g_in,    g_in += weight_in or w   at each inhibitory spike
    tau_stdp   dx/dt    = -x,       x    += 1                at each spike of the neuron itself

    w += learning_rate * (x_post - alpha)   at each spike of the presynaptic, inhibitory neuron
    w += learning_rate * x_pre              at each spike of the postsynaptic, excitatory neuron

w is kept within [0, w_max]. With alpha = 2 * rate_target * tau_stdp, synapses of a postsynaptic neuron that
spikes at its target rate, independently of the presynaptic one, gain as much as they lose. Inhibition between
inhibitory neurons does not learn.

Source: Vogels et al. 2011, Science 334:1569-1573, in the form of the program by F. Zenke that Brian2
distributes as its example ``Vogels_et_al_2011``, from which the numbers are. Potentials begin at 0 mV there.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import event_ops
from event_ops import plasticity
from event_ops_harness.networks.balanced.connectivity import Connectivity, random_connectivity
from event_ops_harness.networks.balanced.network import BalancedParameters
from event_ops_harness.networks.shared.simulation import Recorder, Simulation, Spikes, Step


@dataclass(frozen=True)
class InhibitoryStdpParameters(BalancedParameters):
    """Hold the parameters: times in ms, potentials in mV, conductances in nS, C_m in pF, currents in pA."""

    unit: ClassVar[str] = "nS"

    E_L: float = -60.0  # mV
    weight_ex: float = 0.3  # nS per spike
    weight_in: float = 3.0  # nS per spike, onto inhibitory neurons
    inputs_per_neuron: float = 200.0  # on average: probability 0.02 at 10,000 neurons
    g_L: float = 10.0  # nS
    C_m: float = 200.0  # pF: a membrane time constant of 20 ms
    E_ex: float = 0.0  # mV
    E_in: float = -80.0  # mV
    I_e: float = 200.0  # pA
    rate_target: float = 3.0  # Hz, of excitatory neurons
    tau_stdp: float = 20.0  # ms
    learning_rate: float = 0.01  # nS per spike
    w_max: float = 100.0  # nS; weights onto excitatory neurons begin at 0
    onset: float = 1000.0  # ms, when learning begins

    @property
    def alpha(self) -> float:
        """alpha = 2 * rate_target * tau_stdp, the trace at which a presynaptic spike changes nothing."""
        return 2 * self.rate_target * 1e-3 * self.tau_stdp


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
    """Hold the constant arrays: rows are source neurons, columns are targets."""

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
    # Rows of inhibitory neurons are empty in the one matrix, rows of excitatory ones in the other.
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
        # The spikes are those of the step before, and so is the learning rate.
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


def drawn(neurons: int, model: InhibitoryStdpParameters, seed: int) -> tuple[State, Synapses]:
    """Draw the synapses and the first state."""
    connectivity = random_connectivity(neurons, model, seed)
    synapses = on_device(connectivity, model)
    return initial_state(connectivity, synapses, model, seed), synapses


def simulation_of(
    neurons: int, model: InhibitoryStdpParameters, seed: int, seconds: float, backend: str | None = None
) -> Simulation:
    """Build the network; before learning begins many neurons spike at once, and all are listed."""
    state, synapses = drawn(neurons, model, seed)
    step = catalog_step(neurons, model, capacity=neurons, backend=backend)
    recorder = Recorder(neurons, capacity=neurons, refractory_steps=int(model.t_ref / model.dt))
    return Simulation(step, state, synapses, recorder, model.steps(seconds))


def learned(simulation: Simulation, state: State, model: InhibitoryStdpParameters) -> np.ndarray:
    """Return the last weights onto excitatory neurons, in nS."""
    targets = np.asarray(simulation.wiring.rows[0])
    return np.asarray(state.w)[targets < model.excitatory_count(simulation.recorder.neurons)]
