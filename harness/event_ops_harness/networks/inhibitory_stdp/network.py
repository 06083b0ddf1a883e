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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import jax
import jax.numpy as jnp
import numpy as np

import event_ops
from event_ops import network
from event_ops.plasticity import vogels_post, vogels_pre
from event_ops_harness.networks.balanced.connectivity import Connectivity, random_connectivity
from event_ops_harness.networks.balanced.network import BalancedParameters
from event_ops_harness.networks.shared.simulation import Recorder, Simulation


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


OPERATORS: Final = ("network_run",)
LEARNING: Final = 2  # the place of the projection that learns
NEURON: Final = (
    "tau_syn_ex", "tau_syn_in", "E_L", "g_L", "C_m", "E_ex", "E_in", "I_e", "V_th", "V_reset", "dt",
)  # fmt: skip


def synapses_of(connectivity: Connectivity, model: InhibitoryStdpParameters) -> tuple[event_ops.CSR, ...]:
    """Return the excitatory synapses, the inhibitory ones onto inhibitory neurons, and the plastic ones.

    Weights that will learn are 0.
    """
    n = connectivity.neurons
    indptr = connectivity.indptr
    targets = connectivity.indices % connectivity.neurons
    excitatory = np.arange(n) < model.excitatory_count(n)
    excite, onto_excitatory = np.repeat(excitatory, np.diff(indptr)), excitatory[targets]

    def chosen(which: np.ndarray, weight: float) -> event_ops.CSR:
        ends = np.append(0, np.cumsum(which, dtype=np.int32))[indptr].astype(np.int32)
        return event_ops.CSR(np.float32(weight), targets[which], ends, shape=(n, n))

    fixed = chosen(excite, model.weight_ex), chosen(~excite & ~onto_excitatory, model.weight_in)
    return *fixed, chosen(~excite & onto_excitatory, 0.0).plan(weights=False)


def declared(
    synapses: tuple[event_ops.CSR, ...],
    model: InhibitoryStdpParameters,
    rate: float,
    record: network.Record | None = None,
) -> network.Network:
    """Return the network that learns at a rate, in nS per spike, as a declaration.

    Spikes act in their own step. Of neurons that spike in one step, a presynaptic one does so first, as in
    Brian2: it does not see the postsynaptic spike, and what it sends has the weight before it.
    """
    traces = {"x_pre": model.tau_stdp, "x_post": model.tau_stdp}
    limits: dict[str, Any] = {"alpha": model.alpha, "w_max": model.w_max}
    # An array: networks that learn at another rate share what is compiled.
    learning = network.Plasticity(
        vogels_pre, vogels_post, traces=traces, dt=model.dt, eta=jnp.float32(rate), **limits
    )
    excite, fixed, learns = synapses
    neuron: dict[str, Any] = {name: getattr(model, name) for name in NEURON} | {"t_ref": model.held_time}
    return network.Network(
        network.Population(excite.shape[0], event_ops.lif_cond_exp_step, **neuron),
        [
            network.Projection(excite, "g_ex", delay=0),
            network.Projection(fixed, "g_in", delay=0),
            network.Projection(learns, "g_in", delay=0, plasticity=learning),
        ],
        record=record,
    )


def stages(
    synapses: tuple[event_ops.CSR, ...], model: InhibitoryStdpParameters, record: network.Record | None = None
) -> Mapping[int, network.Network]:
    """Return the networks by the step from which on they run: learning begins later."""
    onset = round(model.onset / model.dt)
    return {
        0: declared(synapses, model, 0.0, record),
        onset: declared(synapses, model, model.learning_rate, record),
    }


def first_state(declaration: network.Network, model: InhibitoryStdpParameters, seed: int) -> network.State:
    """Draw potentials between reset and threshold."""
    n = declaration.layout.total
    V_m = np.random.default_rng([seed, 1]).uniform(model.V_reset, model.V_th, n)
    return declaration.state(
        {"V_m": jnp.asarray(V_m, jnp.float32), "refractory": 0.0, "g_ex": 0.0, "g_in": 0.0}
    )


def simulation_of(
    neurons: int, model: InhibitoryStdpParameters, seed: int, seconds: float, backend: str | None = None
) -> Simulation:
    """Build the network; before learning begins many neurons spike at once, and all are listed."""
    synapses = synapses_of(random_connectivity(neurons, model, seed), model)
    recorder = Recorder(neurons, capacity=neurons, refractory_steps=int(model.t_ref / model.dt))
    by_step = stages(synapses, model, network.Record(spikes=recorder.buffer().ids.size))
    first = by_step[0]
    steps = model.steps(seconds)
    return Simulation(
        first, first_state(first, model, seed), first, recorder, steps, backend=backend, stages=by_step
    )


def learned(state: network.State) -> np.ndarray:
    """Return the last weights onto excitatory neurons, in nS."""
    weights: jax.Array = state.synapses[LEARNING]["w"]
    return np.asarray(weights)
