"""The jitted loop over time steps, and what it records.

The loop runs in chunks: a chunk is one call of one compiled program, so that between two chunks
Python can move a progress bar and empty the recording's buffers. Their size does not depend on
the length of the simulation.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from event_ops_harness.networks.cuba.connectivity import Connectivity
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.cuba.network import Spikes, State, Step, Synapses, capacity_of, on_device

CHUNK_STEPS = 1000
RECORDED_NEURONS = 4000  # at most: in larger networks every so many neurons one is recorded
TRACED_NEURONS = 16  # membrane potentials kept for the figure


class Buffers(NamedTuple):
    spike_ids: jax.Array  # int32, filled from the front, step after step
    filled: jax.Array  # int32 0-d
    num_spikes: jax.Array  # int32 (CHUNK_STEPS,), spikes of each step
    V_m: jax.Array  # float32 (CHUNK_STEPS, traced), mV


# (buffers, step in the chunk, state, spikes) -> buffers
Write = Callable[[Buffers, jax.Array, State, Spikes], Buffers]


@dataclass
class Recording:
    """What is left of a simulation; times in steps."""

    neurons: int
    stride: int  # every stride-th neuron is in spike_ids
    num_spikes: list[np.ndarray] = field(default_factory=list)  # int32, per step, all neurons
    spike_steps: list[np.ndarray] = field(default_factory=list)
    spike_ids: list[np.ndarray] = field(default_factory=list)
    V_m: list[np.ndarray] = field(default_factory=list)  # mV (steps, traced)
    lost: int = 0  # spikes that are counted but not in spike_ids
    seconds: float = 0.0  # wall clock of the loop, recording included

    @property
    def steps(self) -> int:
        return sum(map(len, self.num_spikes))

    @property
    def spikes(self) -> int:
        return sum(int(counts.sum(dtype=np.int64)) for counts in self.num_spikes)


def simulate(
    connectivity: Connectivity,
    model: CubaParameters,
    step: Step,
    state: State,
    *,
    steps: int,
    on_chunk: Callable[[int], None] = lambda done: None,
) -> Recording:
    """Run so many time steps from `state`, whose arrays are donated; `on_chunk(steps done)` after each chunk.

    Compilation is not part of `Recording.seconds`.
    """
    n = connectivity.neurons
    synapses, buffers = on_device(connectivity), make_buffers(n, model)
    run = compile_chunk(step, record_step, state, synapses, buffers)
    return record(run, state, synapses, buffers, neurons=n, steps=steps, on_chunk=on_chunk)


def record(
    run: Callable[..., tuple[State, Buffers]],
    state: State,
    synapses: Any,
    buffers: Buffers,
    *,
    neurons: int,
    steps: int,
    on_chunk: Callable[[int], None],
) -> Recording:
    """Call a compiled chunk until so many steps are done."""
    recording = Recording(neurons, stride=-(-neurons // RECORDED_NEURONS))
    done, start = 0, time.perf_counter()
    while done < steps:
        todo = min(CHUNK_STEPS, steps - done)
        state, buffers = run(np.int32(todo), state, synapses, buffers)
        keep(recording, buffers, done, todo, capacity_of(neurons))
        done += todo
        on_chunk(done)
    recording.seconds = time.perf_counter() - start
    return recording


def make_buffers(neurons: int, model: CubaParameters) -> Buffers:
    """Room for the most spikes that refractory neurons can fire in one chunk, so nothing overflows."""
    at_most = 1 + CHUNK_STEPS // max(1, int(model.t_ref / model.dt))
    capacity = capacity_of(neurons)
    size = min(neurons * at_most, CHUNK_STEPS * capacity) + capacity
    return Buffers(
        spike_ids=jnp.zeros(size, jnp.int32),
        filled=jnp.zeros((), jnp.int32),
        num_spikes=jnp.zeros(CHUNK_STEPS, jnp.int32),
        V_m=jnp.zeros((CHUNK_STEPS, min(neurons, TRACED_NEURONS)), jnp.float32),
    )


def compile_chunk(
    step: Step, write: Write, state: State, synapses: Synapses, buffers: Buffers
) -> Callable[..., tuple[State, Buffers]]:
    """The loop over the steps of one chunk, compiled; state and buffers are updated in place."""
    return compiled(chunk_loop(step, write), state, synapses, buffers)


def compiled(run: Callable[..., Any], state: State, synapses: Any, buffers: Buffers) -> Callable[..., Any]:
    """A chunk compiled for arguments like these."""
    jitted = jax.jit(run, donate_argnames=("state", "buffers"))
    return jitted.lower(np.int32(0), state, synapses, buffers).compile()


def chunk_loop(step: Step, write: Write) -> Callable[..., tuple[State, Buffers]]:
    """The loop over the steps of one chunk, as many of them as its first argument says."""

    def run(todo: jax.Array, state: State, synapses: Synapses, buffers: Buffers):
        def body(t, carry):
            state, spikes = step(carry[0], synapses)
            return state, write(carry[1], t, state, spikes)

        empty = buffers._replace(filled=jnp.zeros((), jnp.int32))
        return jax.lax.fori_loop(0, todo, body, (state, empty))

    return run


def record_step(buffers: Buffers, t: jax.Array, state: State, spikes: Spikes) -> Buffers:
    """Append the step's spikes; what lies behind `filled` is overwritten by the next step."""
    update = partial(jax.lax.dynamic_update_slice_in_dim, axis=0)
    return Buffers(
        spike_ids=update(buffers.spike_ids, spikes.ids, buffers.filled),
        filled=buffers.filled + jnp.minimum(spikes.count, spikes.ids.size),
        num_spikes=update(buffers.num_spikes, spikes.count[None], t),
        V_m=update(buffers.V_m, state.V_m[None, : buffers.V_m.shape[1]], t),
    )


def keep(recording: Recording, buffers: Buffers, first: int, steps: int, capacity: int) -> None:
    """Copy one chunk out of the buffers, thinned to the recorded neurons."""
    counts = np.array(np.asarray(buffers.num_spikes)[:steps])
    named = np.minimum(counts, capacity)
    ids = np.asarray(buffers.spike_ids)[: int(buffers.filled)]
    at = np.repeat(np.arange(first, first + steps), named)
    chosen = ids % recording.stride == 0
    recording.num_spikes.append(counts)
    recording.spike_ids.append(ids[chosen])
    recording.spike_steps.append(at[chosen])
    recording.V_m.append(np.array(np.asarray(buffers.V_m)[:steps]))
    recording.lost += int((counts - named).sum())
