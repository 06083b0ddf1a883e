"""The jitted scan over time steps, and what it records.

The scan runs in chunks: a chunk is one call of one compiled program, so that between two chunks Python can
move a progress bar and empty the buffer of spikes. The buffer has room for whatever refractory neurons can
fire in a chunk, and for `capacity` spikes of one step: more of them are an error, never a loss.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.microcircuit.network import (
    Spikes,
    State,
    Step,
    Wiring,
    capacity_of,
    unchanged,
)

CHUNK_STEPS = 1000


class SpikesLostError(RuntimeError):
    """A step had more spikes than the buffer takes; the message names the step."""


class Buffer(NamedTuple):
    ids: jax.Array  # int32, filled from the front, step after step
    filled: jax.Array  # int32 0-d


@dataclass
class Recording:
    """What is left of a simulation; times in steps."""

    neurons: int
    first_step: int
    num_spikes: list[np.ndarray] = field(default_factory=list)  # int32, per step
    spike_ids: list[np.ndarray] = field(default_factory=list)
    seconds: float = 0.0  # wall clock of the loop, recording included

    @property
    def steps(self) -> int:
        return sum(map(len, self.num_spikes))

    @property
    def ids(self) -> np.ndarray:
        """(spikes,), int32, who fired."""
        return np.concatenate([np.zeros(0, np.int32), *self.spike_ids])

    @property
    def times(self) -> np.ndarray:
        """(spikes,), the step of each spike."""
        counts = np.concatenate([np.zeros(0, np.int32), *self.num_spikes])
        return np.repeat(np.arange(self.first_step, self.first_step + counts.size), counts)


Loop = Callable[[State, Buffer, Wiring], tuple[State, Buffer, jax.Array]]
Arguments = tuple[State, Buffer, Wiring]


@dataclass(frozen=True)
class Placement:
    """Where a loop runs: `place` puts its arguments there, `around` makes of the loop of one device that of
    all, and `gather` of the state in parts that of one device."""

    place: Callable[[Arguments], Arguments] = unchanged
    around: Callable[[Loop], Loop] = unchanged
    gather: Callable[[State], State] = unchanged


HERE = Placement()


def simulate(
    model: Microcircuit,
    step: Step,
    state: State,
    wiring: Wiring,
    *,
    steps: int,
    capacity: int | None = None,
    placement: Placement = HERE,
    on_chunk: Callable[[int], None] = lambda done: None,
) -> tuple[State, Recording]:
    """Run so many steps from `state`, whose arrays are donated; `on_chunk(steps done)` after each chunk.

    Compilation is not part of `Recording.seconds`. Raises SpikesLostError.
    """
    n, room = model.neurons, capacity_of(model.neurons) if capacity is None else capacity
    recording = Recording(n, first_step=int(state.t))
    state, buffer, wiring = placement.place((state, make_buffer(n, room, model), wiring))
    sizes = {min(CHUNK_STEPS, steps), steps % CHUNK_STEPS or CHUNK_STEPS}
    arguments = state, buffer, wiring
    chunks = {size: compile_chunk(step, size, *arguments, placement) for size in sizes if size <= steps}
    start = time.perf_counter()
    for done in range(0, steps, CHUNK_STEPS):
        todo = min(CHUNK_STEPS, steps - done)
        state, buffer, counts = chunks[todo](state, buffer, wiring)
        keep(recording, buffer, np.asarray(counts), room)
        on_chunk(done + todo)
    recording.seconds = time.perf_counter() - start
    return placement.gather(state), recording


def make_buffer(neurons: int, capacity: int, model: Microcircuit) -> Buffer:
    """Room for the most spikes that refractory neurons can fire in one chunk, and for one step more."""
    at_most = 1 + CHUNK_STEPS // max(1, round(model.t_ref / model.dt))
    size = min(neurons * at_most, CHUNK_STEPS * capacity) + capacity
    return Buffer(jnp.zeros(size, jnp.int32), jnp.zeros((), jnp.int32))


def compile_chunk(
    step: Step, steps: int, state: State, buffer: Buffer, wiring: Wiring, placement: Placement = HERE
) -> Loop:
    """The scan over the steps of one chunk; state and buffer are updated in place."""

    def run(state: State, buffer: Buffer, wiring: Wiring) -> tuple[State, Buffer, jax.Array]:
        def body(carry: tuple[State, Buffer], _: None) -> tuple[tuple[State, Buffer], jax.Array]:
            state, spikes = step(carry[0], wiring)
            return (state, append(carry[1], spikes)), spikes.count

        empty = buffer._replace(filled=jnp.zeros((), jnp.int32))
        (state, buffer), counts = jax.lax.scan(body, (state, empty), length=steps)
        return state, buffer, counts

    return jax.jit(placement.around(run), donate_argnums=(0, 1)).lower(state, buffer, wiring).compile()


def append(buffer: Buffer, spikes: Spikes) -> Buffer:
    """Write a step's spikes; what lies behind `filled` is overwritten by the next step."""
    update = partial(jax.lax.dynamic_update_slice_in_dim, axis=0)
    kept = jnp.minimum(spikes.count, spikes.ids.size)
    return Buffer(update(buffer.ids, spikes.ids, buffer.filled), buffer.filled + kept)


def keep(recording: Recording, buffer: Buffer, counts: np.ndarray, capacity: int) -> None:
    """Copy one chunk's spikes out of the buffer; an error if there were more than it took."""
    crowded = np.flatnonzero(counts > capacity)
    if crowded.size:
        step = recording.first_step + recording.steps + int(crowded[0])
        raise SpikesLostError(
            f"step {step} had {counts[crowded[0]]} spikes; the buffer takes {capacity} of one step; "
            "raise capacity"
        )
    recording.num_spikes.append(np.array(counts))
    recording.spike_ids.append(np.array(np.asarray(buffer.ids)[: int(buffer.filled)]))
