"""The jitted scan over time steps, or run of a declared network, and the spikes that it records.

It runs in chunks. A chunk is one call of one compiled program; between two chunks Python moves a
progress bar and empties the buffer of spikes, whose size does not depend on the length of the simulation.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.network import Network
from event_ops_harness.networks.shared.blocks import ONE_DEVICE, OneDevice

CHUNK_STEPS = 1000


class SpikesLostError(RuntimeError):
    """A step had more spikes than the buffer takes; the message names the step."""


class Spikes(NamedTuple):
    ids: jax.Array  # int32 (capacity,), ascending; only the first `count` are spikes
    count: jax.Array  # int32 0-d, may exceed the capacity


class Buffer(NamedTuple):
    ids: jax.Array  # int32, filled from the front, step after step
    filled: jax.Array  # int32 0-d


# (state, wiring) -> (state, spikes)
Step = Callable[[Any, Any], tuple[Any, Spikes]]


def no_trace(state: Any) -> Any:
    """Record nothing but spikes."""
    return ()


@dataclass(frozen=True)
class Recorder:
    """Choose the record of a simulation.

    `trace(state)` is recorded after every step. A step with more than `capacity` spikes raises
    SpikesLostError, or, with `lossy`, is counted in full and listed in part.
    """

    neurons: int
    capacity: int  # spikes of one step that are listed
    refractory_steps: int  # between two spikes of a neuron
    stride: int = 1  # every stride-th neuron is listed
    lossy: bool = False
    first_step: int = 0  # its number
    trace: Callable[[Any], Any] = no_trace

    def buffer(self) -> Buffer:
        """Return room for the most spikes that refractory neurons can fire in a chunk, and one step more."""
        each = 1 + CHUNK_STEPS // max(1, self.refractory_steps)
        size = min(self.neurons * each, CHUNK_STEPS * self.capacity) + self.capacity
        return Buffer(jnp.zeros(size, jnp.int32), jnp.zeros((), jnp.int32))


@dataclass
class Recording:
    """Keep the record of a simulation, chunk by chunk; times are in steps."""

    recorder: Recorder
    steps: int = 0
    counts_by_chunk: list[np.ndarray] = field(default_factory=list)
    times_by_chunk: list[np.ndarray] = field(default_factory=list)
    ids_by_chunk: list[np.ndarray] = field(default_factory=list)
    traces_by_chunk: list[Any] = field(default_factory=list)
    lost: int = 0  # spikes that are counted but not listed
    seconds: float = 0.0  # wall clock of the loop, recording included

    @property
    def first_step(self) -> int:
        return self.recorder.first_step

    @property
    def counts(self) -> np.ndarray:
        """(steps,), int32, the spikes of each step, of all neurons."""
        return np.concatenate([np.zeros(0, np.int32), *self.counts_by_chunk])

    @property
    def us_per_step(self) -> float:
        """The wall clock of a step, in microseconds."""
        return self.seconds / self.steps * 1e6

    @property
    def spikes(self) -> int:
        """The number of spikes of all neurons."""
        return int(self.counts.sum(dtype=np.int64))

    @property
    def times(self) -> np.ndarray:
        """(listed spikes,), int64, the step of each."""
        return np.concatenate([np.zeros(0, np.int64), *self.times_by_chunk])

    @property
    def ids(self) -> np.ndarray:
        """(listed spikes,), int32, the neuron of each."""
        return np.concatenate([np.zeros(0, np.int32), *self.ids_by_chunk])

    @property
    def traces(self) -> Any:
        """(steps, ...), the results of the recorder's `trace`."""
        return jax.tree.map(lambda *chunks: np.concatenate(chunks), *self.traces_by_chunk)

    def keep(self, buffer: Buffer, counts: np.ndarray, traces: Any) -> None:
        """Copy one chunk out of the buffers. Raise SpikesLostError if a step was too crowded to be listed."""
        listed = np.minimum(counts, self.recorder.capacity)
        begin = self.first_step + self.steps
        if not self.recorder.lossy and (listed < counts).any():
            crowded = int(np.argmax(listed < counts))
            raise SpikesLostError(
                f"step {begin + crowded} had {counts[crowded]} spikes; the buffer takes "
                f"{self.recorder.capacity} of one step; raise capacity"
            )
        ids = np.asarray(buffer.ids)[: int(buffer.filled)]
        times = np.repeat(np.arange(begin, begin + counts.size), listed)
        outside = ids >= self.recorder.neurons  # sources behind the neurons, such as a thalamus
        chosen = (ids % self.recorder.stride == 0) & ~outside
        self.counts_by_chunk.append(counts - np.bincount(times[outside] - begin, minlength=counts.size))
        self.times_by_chunk.append(times[chosen])
        # A copy, as an index of flags makes it: the buffer's memory goes to the next chunk.
        self.ids_by_chunk.append(ids[chosen])
        self.traces_by_chunk.append(jax.tree.map(np.array, traces))
        self.lost += int((counts - listed).sum())
        self.steps += counts.size


@dataclass(frozen=True)
class Simulation:
    """Hold a built network, its recorder, and its number of steps.

    A declared network runs on a backend, and gives way to another one of the same parts at steps of `stages`.
    """

    step: Step | Network  # a network runs in one call for each chunk, and is its own wiring
    state: Any  # the first one
    wiring: Any  # what the step reads and does not change
    recorder: Recorder
    steps: int
    placement: OneDevice = ONE_DEVICE
    backend: str | None = None
    stages: Mapping[int, Any] = field(default_factory=dict[int, Any])

    def run(self, on_chunk: Callable[[int], None] = lambda done: None) -> tuple[Any, Recording]:
        """Run once, as the state's arrays are donated; call `on_chunk(steps done)` after each chunk.

        Returns the last state, and the recording, whose `seconds` leave compilation out. Raises
        SpikesLostError.
        """
        step = self.step
        recorder = self.recorder
        placement = self.placement
        recording = Recording(self.recorder)
        arguments = placement.place(self.state, recorder.buffer(), self.wiring)
        starts = sorted({*range(0, self.steps, CHUNK_STEPS), *(x for x in self.stages if x < self.steps)})
        # Some chunks are shorter; all lengths are compiled before the clock starts.
        sizes = [end - done for done, end in zip(starts, [*starts[1:], self.steps], strict=True)]
        backend = self.backend
        chunks = {x: compile_chunk(step, x, recorder, arguments, placement, backend) for x in {*sizes}}
        state, buffer, wiring = arguments
        start = time.perf_counter()
        for done, size in zip(starts, sizes, strict=True):
            wiring = self.stages.get(done, wiring)
            state, buffer, (counts, traces) = chunks[size](state, buffer, wiring)
            recording.keep(buffer, np.asarray(counts), traces)
            on_chunk(done + size)
        recording.seconds = time.perf_counter() - start
        return placement.gather(state), recording


def compile_chunk(
    step: Step | Network,
    steps: int,
    recorder: Recorder,
    arguments: tuple[Any, Buffer, Any],
    placement: OneDevice = ONE_DEVICE,
    backend: str | None = None,
) -> Any:
    """Compile `steps` steps; state and buffer are updated in place."""
    chunk = partial(one_call, steps, backend) if isinstance(step, Network) else scan_of(step, steps, recorder)
    return jax.jit(placement.around(chunk), donate_argnums=(0, 1)).lower(*arguments).compile()


def one_call(
    steps: int, backend: str | None, state: Any, buffer: Buffer, network: Network
) -> tuple[Any, Buffer, Any]:
    """Run a declared network, whose record has the room of the buffer; its traces are the recorded states."""
    begin = state.step
    state, seen = network.run(state, steps, backend=backend)
    # Behind the spikes are steps of -1.
    times = jnp.where(seen.times < 0, begin + steps, seen.times)
    counts = jnp.diff(jnp.searchsorted(times, begin + jnp.arange(steps + 1, dtype=begin.dtype)))
    return state, Buffer(seen.ids, seen.num_spikes), (counts, seen.states)


def scan_of(step: Step, steps: int, recorder: Recorder) -> Callable[..., Any]:
    """Return the scan over `steps` steps."""

    def run(state: Any, buffer: Buffer, wiring: Any) -> tuple[Any, Buffer, Any]:
        def body(carry: tuple[Any, Buffer], _: None) -> tuple[tuple[Any, Buffer], Any]:
            state, spikes = step(carry[0], wiring)
            return (state, append(carry[1], spikes)), (spikes.count, recorder.trace(state))

        empty = buffer._replace(filled=jnp.zeros((), jnp.int32))
        (state, buffer), seen = jax.lax.scan(body, (state, empty), length=steps)
        return state, buffer, seen

    return run


def append(buffer: Buffer, spikes: Spikes) -> Buffer:
    """Write a step's spikes; the next step overwrites the ids behind `filled`."""
    update = partial(jax.lax.dynamic_update_slice_in_dim, axis=0)
    listed = jnp.minimum(spikes.count, spikes.ids.size)
    return Buffer(update(buffer.ids, spikes.ids, buffer.filled), buffer.filled + listed)
