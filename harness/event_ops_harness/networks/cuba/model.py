"""Parameters of the CUBA network.

    tau_m      dV/dt    = (E_L - V) + g_ex + g_in       (V is held while refractory)
    tau_syn_ex dg_ex/dt = -g_ex,    g_ex += weight_ex   at each excitatory spike
    tau_syn_in dg_in/dt = -g_in,    g_in += weight_in   at each inhibitory spike

Source: Brette et al. 2007, J. Comput. Neurosci. 23:349-398, benchmark 2.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from event_ops_harness.networks.balanced.model import BalancedParameters


@dataclass(frozen=True)
class CubaParameters(BalancedParameters):
    """Hold the parameters: times in ms, potentials in mV, drives (resistance times current) in mV."""

    unit: ClassVar[str] = "mV"

    E_L: float = -49.0  # mV, above threshold: neurons fire by themselves
    weight_ex: float = 1.62  # mV per spike
    weight_in: float = -9.0  # mV per spike
    tau_m: float = 20.0  # ms, membrane

    def drive_gain(self, tau_syn: float) -> float:
        """Return the constant drive that moves V over one step exactly as 1 mV decaying with tau_syn does.

        gain = tau_syn / (tau_syn - tau_m) * (exp(-dt/tau_syn) - exp(-dt/tau_m)) / (1 - exp(-dt/tau_m)):
        with it an integrator that is exact for constant drive is exact for this model.
        """
        decay_m, decay_syn = math.exp(-self.dt / self.tau_m), math.exp(-self.dt / tau_syn)
        if math.isclose(tau_syn, self.tau_m):
            return (self.dt / self.tau_m) * decay_m / (1.0 - decay_m)
        return tau_syn / (tau_syn - self.tau_m) * (decay_syn - decay_m) / (1.0 - decay_m)
