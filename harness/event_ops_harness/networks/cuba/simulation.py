"""What a simulation of the CUBA network records: spikes, and the membrane potentials of the first neurons."""

from typing import Any

import jax

from event_ops import ShardedCSR
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.cuba.network import State, Step, Synapses, capacity_of
from event_ops_harness.networks.shared.simulation import Recorder, Recording
from event_ops_harness.networks.shared.simulation import simulate as run

RECORDED_NEURONS = 4000  # at most: of larger networks every so many neurons one is listed
TRACED_NEURONS = 16  # membrane potentials kept for the figure


def traced_potentials(state: State) -> jax.Array:
    """Return the membrane potentials that are recorded in every step, in mV."""
    return state.V_m[:TRACED_NEURONS]


def recorder_of(neurons: int, model: CubaParameters) -> Recorder:
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
    model: CubaParameters, step: Step, state: State, synapses: Synapses | ShardedCSR, **how: Any
) -> tuple[State, Recording]:
    """Run steps from `state`, whose arrays are donated; `how` is that of `shared.simulation.simulate`."""
    return run(step, state, synapses, recorder_of(state.V_m.size, model), **how)
