"""The COBA network (Brette et al. 2007, benchmark 1): ``python -m event_ops_harness.networks.coba``.

    C_m        dV/dt    = g_L * (E_L - V) + g_ex * (E_ex - V) + g_in * (E_in - V)   (V is held, refractory)
    tau_syn_ex dg_ex/dt = -g_ex,    g_ex += weight_ex   at each excitatory spike
    tau_syn_in dg_in/dt = -g_in,    g_in += weight_in   at each inhibitory spike

Source: Brette et al. 2007, J. Comput. Neurosci. 23:349-398, benchmark 1. The membrane has 1 uF/cm2 and
50 uS/cm2 there, of 20,000 um2: 200 pF and 10 nS. Nothing drives the network: it goes on by itself once it has
begun. Its first state is that of R. Brette's program for the paper, ``COBA.py`` in Brian, but for g_ex_mean
and g_in_sd, which are 40 and 120 nS there: neurons then begin to fire so nearly at once that some networks (4
of 30 seeds here) fall silent after it, and with these none of 120. Conductances drawn below 0 are 0.
"""

import sys
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

import event_ops
from event_ops_harness.networks.balanced.cli import program_of
from event_ops_harness.networks.balanced.connectivity import Connectivity
from event_ops_harness.networks.balanced.network import BalancedParameters
from event_ops_harness.networks.balanced.steps import BalancedNetwork


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


NEURON: Final = ("tau_syn_ex", "tau_syn_in", "E_L", "g_L", "C_m", "E_ex", "E_in", "V_th", "V_reset", "dt")


def parameters(connectivity: Connectivity, model: CobaParameters) -> dict[str, float]:
    """Return the parameters of `lif_cond_exp_step`."""
    return {name: getattr(model, name) for name in NEURON} | {"t_ref": model.held_time}


def weights(data: np.ndarray, scale: float) -> np.ndarray:
    """Return conductances in nS, also of inhibitory synapses, which are negative in a file."""
    return np.float32(scale) * np.abs(data)


def drawn(model: CobaParameters, rng: np.random.Generator, n: int) -> tuple[Any, Any, Any]:
    """Draw potentials and conductances from normal distributions."""
    V_m = rng.normal(model.V_mean, model.V_sd, n)
    g_ex = np.maximum(rng.normal(model.g_ex_mean, model.g_ex_sd, n), 0)
    return V_m, g_ex, np.maximum(rng.normal(model.g_in_mean, model.g_in_sd, n), 0)


COBA: Final = BalancedNetwork(
    "coba",
    CobaParameters(),
    event_ops.lif_cond_exp_step,
    ("lif_cond_exp_step", "csr_event_arrivals", "spike_compact"),
    parameters,
    weights,
    drawn,
)
main = program_of(COBA).main

if __name__ == "__main__":
    sys.exit(main())
