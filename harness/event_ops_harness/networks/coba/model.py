"""Parameters of the COBA network.

    C_m        dV/dt    = g_L * (E_L - V) + g_ex * (E_ex - V) + g_in * (E_in - V)   (V is held, refractory)
    tau_syn_ex dg_ex/dt = -g_ex,    g_ex += weight_ex   at each excitatory spike
    tau_syn_in dg_in/dt = -g_in,    g_in += weight_in   at each inhibitory spike

Source: Brette et al. 2007, J. Comput. Neurosci. 23:349-398, benchmark 1. The membrane has 1 uF/cm2 and
50 uS/cm2 there, of 20,000 um2: 200 pF and 10 nS. Nothing drives the network: it goes on by itself once it has
begun. Its first state is that of R. Brette's program for the paper, ``COBA.py`` in Brian, but for g_ex_mean
and g_in_sd, which are 40 and 120 nS there: neurons then begin to fire so nearly at once that some networks (4
of 30 seeds here) fall silent after it, and with these none of 120. Conductances drawn below 0 are 0.
"""

from dataclasses import dataclass
from typing import ClassVar

from event_ops_harness.networks.balanced.model import BalancedParameters


@dataclass(frozen=True)
class CobaParameters(BalancedParameters):
    """Hold the parameters: times in ms, potentials in mV, conductances in nS, the capacitance in pF."""

    unit: ClassVar[str] = "nS"

    E_L: float = -60.0  # mV
    weight_ex: float = 6.0  # nS per spike
    weight_in: float = 67.0  # nS per spike
    g_L: float = 10.0  # nS
    C_m: float = 200.0  # pF: a membrane time constant of 20 ms
    E_ex: float = 0.0  # mV
    E_in: float = -80.0  # mV
    V_mean: float = -65.0  # mV; this and all below: the first state is normal
    V_sd: float = 5.0
    g_ex_mean: float = 20.0  # nS
    g_ex_sd: float = 15.0
    g_in_mean: float = 200.0  # nS
    g_in_sd: float = 200.0
