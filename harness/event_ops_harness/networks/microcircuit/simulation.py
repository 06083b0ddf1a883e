"""What a simulation of the microcircuit records: the spikes of all neurons."""

from typing import Any

from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.microcircuit.network import State, Step, Wiring, capacity_of
from event_ops_harness.networks.shared.simulation import Recorder, Recording
from event_ops_harness.networks.shared.simulation import simulate as run


def recorder_of(model: Microcircuit, first_step: int = 0, capacity: int | None = None) -> Recorder:
    """Record all spikes, up to `capacity` in a step: more of them are an error, never a loss."""
    room = capacity_of(model.neurons) if capacity is None else capacity
    return Recorder(model.neurons, room, refractory_steps=int(model.t_ref / model.dt), first_step=first_step)


def simulate(
    model: Microcircuit, step: Step, state: State, wiring: Wiring, *, capacity: int | None = None, **how: Any
) -> tuple[State, Recording]:
    """Run steps from `state`, whose arrays are donated; `how` is that of `shared.simulation.simulate`.

    Raises SpikesLostError.
    """
    return run(step, state, wiring, recorder_of(model, int(state.t), capacity), **how)
