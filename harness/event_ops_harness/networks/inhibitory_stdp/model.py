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
from typing import ClassVar

from event_ops_harness.networks.balanced.model import BalancedParameters


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
