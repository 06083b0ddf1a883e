"""What a simulation of a balanced network records: spikes, and the potentials of the first neurons."""

from typing import Any

import jax

from event_ops_harness.networks.balanced.model import BalancedParameters
from event_ops_harness.networks.shared.simulation import Recorder, Recording, Step
from event_ops_harness.networks.shared.simulation import simulate as run

RECORDED_NEURONS = 4000  # at most: of larger networks every so many neurons one is listed
TRACED_NEURONS = 16  # membrane potentials kept for the figure


def capacity_of(neurons: int) -> int:
    """Return how many spikes of one step are listed; 0.0006 per neuron is usual."""
    return min(neurons, max(64, neurons // 64))


def traced_potentials(state: Any) -> jax.Array:
    """Return the membrane potentials that are recorded in every step, in mV."""
    return state.V_m[:TRACED_NEURONS]


def recorder_of(neurons: int, model: BalancedParameters) -> Recorder:
    """Choose what is recorded of so many neurons; a crowded step is counted in full and listed in part."""
    return Recorder(
        neurons,
        capacity_of(neurons),
        refractory_steps=int(model.t_ref / model.dt),
        stride=-(-neurons // RECORDED_NEURONS),
        lossy=True,
        trace=traced_potentials,
    )


def simulate(
    model: BalancedParameters, step: Step, state: Any, synapses: Any, **how: Any
) -> tuple[Any, Recording]:
    """Run steps from `state`, whose arrays are donated; `how` is that of `shared.simulation.simulate`."""
    return run(step, state, synapses, recorder_of(state.V_m.size, model), **how)
