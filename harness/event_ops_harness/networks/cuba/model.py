"""Parameters of the CUBA network.

    tau_m      dV/dt    = (E_L - V) + g_ex + g_in       (V is held while refractory)
    tau_syn_ex dg_ex/dt = -g_ex,    g_ex += weight_ex   at each excitatory spike
    tau_syn_in dg_in/dt = -g_in,    g_in += weight_in   at each inhibitory spike

Source: Brette et al. 2007, J. Comput. Neurosci. 23:349-398, benchmark 2,
after Vogels & Abbott 2005, J. Neurosci. 25:10786-10795.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class CubaParameters:
    """Hold the parameters: times in ms, potentials in mV, drives (resistance times current) in mV."""

    tau_m: float = 20.0  # ms, membrane
    tau_syn_ex: float = 5.0  # ms, excitatory synapses
    tau_syn_in: float = 10.0  # ms, inhibitory synapses
    E_L: float = -49.0  # mV, above threshold: neurons fire by themselves
    V_th: float = -50.0  # mV
    V_reset: float = -60.0  # mV
    t_ref: float = 5.0  # ms
    weight_ex: float = 1.62  # mV per spike
    weight_in: float = -9.0  # mV per spike
    dt: float = 0.1  # ms
    excitatory_fraction: float = 0.8
    inputs_per_neuron: float = 80.0  # on average: probability 0.02 at 4000 neurons

    def connection_probability(self, neurons: int) -> float:
        """p = inputs_per_neuron / neurons, at most 1."""
        return min(1.0, self.inputs_per_neuron / neurons)

    def excitatory_count(self, neurons: int) -> int:
        """Return how many neurons are excitatory: the first ones."""
        return round(self.excitatory_fraction * neurons)

    def steps(self, seconds: float) -> int:
        """Return the number of time steps in so many seconds of model time."""
        return max(1, round(seconds * 1000.0 / self.dt))

    def drive_gain(self, tau_syn: float) -> float:
        """Return the constant drive that moves V over one step exactly as 1 mV decaying with tau_syn does.

        gain = tau_syn / (tau_syn - tau_m) * (exp(-dt/tau_syn) - exp(-dt/tau_m)) / (1 - exp(-dt/tau_m)):
        with it an integrator that is exact for constant drive is exact for this model.
        """
        decay_m, decay_syn = math.exp(-self.dt / self.tau_m), math.exp(-self.dt / tau_syn)
        if math.isclose(tau_syn, self.tau_m):
            return (self.dt / self.tau_m) * decay_m / (1.0 - decay_m)
        return tau_syn / (tau_syn - self.tau_m) * (decay_syn - decay_m) / (1.0 - decay_m)
