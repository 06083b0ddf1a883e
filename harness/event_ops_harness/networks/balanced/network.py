"""Parameters that the balanced networks of Vogels and Abbott have in common.

Source: Brette et al. 2007, J. Comput. Neurosci. 23:349-398, benchmarks 1 and 2,
after Vogels & Abbott 2005, J. Neurosci. 25:10786-10795.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax

from event_ops_harness.networks.shared.simulation import Recorder


@dataclass(frozen=True)
class BalancedParameters:
    """Hold the parameters: times in ms, potentials in mV, weights in the network's own unit."""

    unit: ClassVar[str]  # of weights

    E_L: float  # mV
    weight_ex: float  # per spike
    weight_in: float  # per spike
    tau_syn_ex: float = 5.0  # ms, excitatory synapses
    tau_syn_in: float = 10.0  # ms, inhibitory synapses
    V_th: float = -50.0  # mV
    V_reset: float = -60.0  # mV
    t_ref: float = 5.0  # ms
    dt: float = 0.1  # ms
    excitatory_fraction: float = 0.8
    inputs_per_neuron: float = 80.0  # on average: probability 0.02 at 4000 neurons

    def excitatory_count(self, neurons: int) -> int:
        """Return how many neurons are excitatory: the first ones."""
        return round(self.excitatory_fraction * neurons)

    def populations(self, neurons: int) -> tuple[int, int]:
        """Return how many neurons are excitatory, and how many inhibitory."""
        excitatory = self.excitatory_count(neurons)
        return excitatory, neurons - excitatory

    def steps(self, seconds: float) -> int:
        """Return the number of time steps in `seconds` of model time."""
        return max(1, round(seconds * 1000.0 / self.dt))

    @property
    def held_time(self) -> float:
        """The t_ref of a step of `event_ops`, in ms: Brian2 counts the step with the spike as the first."""
        return max(0.0, self.t_ref - self.dt)


RECORDED_NEURONS = 4000  # at most: of larger networks a regular subset is listed
TRACED_NEURONS = 16  # membrane potentials kept for the figure


def capacity_of(neurons: int) -> int:
    """Return how many spikes of one step are listed; 0.0006 per neuron is usual."""
    return min(neurons, max(64, neurons // 64))


def traced_potentials(state: Any) -> dict[str, jax.Array]:
    """Return the membrane potentials that are recorded in every step, in mV."""
    return {"V_m": state["V_m"][:TRACED_NEURONS]}


def recorder_of(neurons: int, model: BalancedParameters, capacity: int | None = None) -> Recorder:
    """Choose the recording of a network; a crowded step is counted in full and listed in part."""
    return Recorder(
        neurons,
        capacity_of(neurons) if capacity is None else capacity,
        refractory_steps=int(model.t_ref / model.dt),
        stride=-(-neurons // RECORDED_NEURONS),
        lossy=True,
        trace=traced_potentials,
    )
