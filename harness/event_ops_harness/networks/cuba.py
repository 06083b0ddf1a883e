"""The CUBA network (Brette et al. 2007, benchmark 2): ``python -m event_ops_harness.networks.cuba``.

    tau_m      dV/dt    = (E_L - V) + g_ex + g_in       (V is held while refractory)
    tau_syn_ex dg_ex/dt = -g_ex,    g_ex += weight_ex   at each excitatory spike
    tau_syn_in dg_in/dt = -g_in,    g_in += weight_in   at each inhibitory spike

Source: Brette et al. 2007, J. Comput. Neurosci. 23:349-398, benchmark 2.
"""

import math
import sys
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import jax.numpy as jnp
import numpy as np

import event_ops
from event_ops_harness.networks.balanced.cli import program_of
from event_ops_harness.networks.balanced.connectivity import Connectivity
from event_ops_harness.networks.balanced.network import BalancedParameters
from event_ops_harness.networks.balanced.steps import BalancedNetwork


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
            # The limit for equal time constants, where the formula is 0 / 0.
            return (self.dt / self.tau_m) * decay_m / (1.0 - decay_m)
        return tau_syn / (tau_syn - self.tau_m) * (decay_syn - decay_m) / (1.0 - decay_m)


def integrate(
    V_m: Any, g_ex: Any, g_in: Any, *, E_L: Any, tau_m: Any, tau_syn_ex: Any, tau_syn_in: Any, gain_ex: Any,
    gain_in: Any, dt: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Move one neuron, and let its drives decay."""
    V_inf = E_L + gain_ex * g_ex + gain_in * g_in
    V_m = V_inf + (V_m - V_inf) * jnp.exp(-dt / tau_m)
    return V_m, g_ex * jnp.exp(-dt / tau_syn_ex), g_in * jnp.exp(-dt / tau_syn_in)


NEURON: Final = event_ops.neuron_step(
    integrate,
    threshold=lambda V_m, g_ex, g_in, *, V_th: V_m - V_th,
    reset=lambda V_m, g_ex, g_in, *, V_reset: (V_reset, g_ex, g_in),
    held=("V_m",),
)


def drive_gains(connectivity: Connectivity, model: CubaParameters) -> tuple[float, float]:
    """Return the drive in mV per unit of g, for each channel."""
    weight_ex, weight_in = connectivity.channel_scale
    return weight_ex * model.drive_gain(model.tau_syn_ex), weight_in * model.drive_gain(model.tau_syn_in)


def parameters(connectivity: Connectivity, model: CubaParameters) -> dict[str, float]:
    """Return the parameters of NEURON; g is in units of the connectivity's weights."""
    names = ("tau_m", "tau_syn_ex", "tau_syn_in", "E_L", "V_th", "V_reset", "dt")
    gain_ex, gain_in = drive_gains(connectivity, model)
    each = {name: getattr(model, name) for name in names}
    return each | {"t_ref": model.held_time, "gain_ex": gain_ex, "gain_in": gain_in}


def weights(data: np.ndarray, scale: float) -> np.ndarray:
    """Return the weights as they are: the gain of the drive has the scale."""
    return data


def drawn(model: CubaParameters, rng: np.random.Generator, n: int) -> tuple[Any, Any, Any]:
    """Draw V_m uniformly between V_reset and V_th; no drive is there."""
    return rng.uniform(model.V_reset, model.V_th, n), np.zeros(n), np.zeros(n)


CUBA: Final = BalancedNetwork(
    "cuba",
    CubaParameters(),
    NEURON,
    ("neuron_step", "csr_event_arrivals", "spike_compact"),
    parameters,
    weights,
    drawn,
)
main = program_of(CUBA).main

if __name__ == "__main__":
    sys.exit(main())
