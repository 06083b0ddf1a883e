"""Who projects to whom: CSR with a row for each source and delay, and columns = targets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from event_ops.parts.reference.random_numbers import philox2x32
from event_ops_harness.networks.microcircuit.model import EXCITATORY, POPULATIONS, Microcircuit, ModelError
from event_ops_harness.networks.microcircuit.rows import (
    SLOTS,
    count_rows,
    count_sources,
    delay_table,
    fill_rows,
)

ALIGNMENT = 64  # bytes: JAX takes such an array as it is, without a copy
SYNAPSES_AT_ONCE = 1 << 22  # between two moves of the progress bar
MAX_SYNAPSES = np.iinfo(np.int32).max

# Independent streams of random numbers from one seed.
RECURRENT, THALAMIC, BACKGROUND, PULSE = range(4)


def key_of(seed: int, stream: int) -> int:
    """Return the key of a stream of random numbers, from the seed of the simulation."""
    x, y = (np.array([word], np.uint32) for word in (seed & 0xFFFFFFFF, stream))
    return int(philox2x32(x, y, np.array([0], np.uint32))[0][0])


@dataclass(frozen=True)
class Connectivity:
    """Hold a CSR matrix of shape (sources * SLOTS, targets): 8 bytes a synapse, and the rows' ends.

    Row i * SLOTS + d has the synapses of source i with a delay of d steps.
    """

    data: np.ndarray  # float32 (nse,), pA
    indices: np.ndarray  # int32 (nse,)
    indptr: np.ndarray  # int32 (sources * SLOTS + 1,)
    targets: int

    @property
    def sources(self) -> int:
        return self.indptr.size // SLOTS

    @property
    def source_ends(self) -> np.ndarray:
        """(sources + 1,), where the synapses of each source end."""
        return self.indptr[::SLOTS]

    @property
    def delays(self) -> np.ndarray:
        """(nse,), uint8, steps."""
        steps = np.tile(np.arange(SLOTS, dtype=np.uint8), self.sources)
        return np.repeat(steps, np.diff(self.indptr))

    @property
    def synapses(self) -> int:
        return self.indices.size

    @property
    def out_degrees(self) -> np.ndarray:
        return np.diff(self.source_ends)

    @property
    def shape(self) -> tuple[int, int]:
        return self.sources, self.targets

    @property
    def nbytes(self) -> int:
        return sum(x.nbytes for x in (self.data, self.indices, self.indptr))


@dataclass(frozen=True)
class Projections:
    """Hold what synapses are drawn from, for each source population s and target population t."""

    sources: np.ndarray  # (s,) neurons
    synapses: np.ndarray  # (t, s)
    weights: np.ndarray  # (t, s), pA
    delays: np.ndarray  # (s,), mean in ms

    @classmethod
    def recurrent(cls, model: Microcircuit) -> "Projections":
        delays = np.where(EXCITATORY, model.delay_ex, model.delay_in)
        return cls(model.sizes, model.synapses, model.weights, delays)

    @classmethod
    def thalamic(cls, model: Microcircuit) -> "Projections":
        synapses = model.thalamic_synapses[:, None]
        weights = np.full(synapses.shape, model.weight_ext)
        return cls(np.array([model.thalamic_neurons]), synapses, weights, np.array([model.delay_ex]))


class Drawing(NamedTuple):
    """Hold what rows are drawn from: a few bytes a neuron, from which the whole matrix follows."""

    key: np.ndarray  # uint32 0-d
    degrees: np.ndarray  # int32 (sources, t), synapses of each neuron onto each target population
    populations: np.ndarray  # int32 (sources,), of the sources
    starts: np.ndarray  # int32 (t,), the first neuron of each target population
    sizes: np.ndarray  # int32 (t,), how many there are
    means: np.ndarray  # float32 (s, t), of the weights in pA
    sds: np.ndarray  # float32 (s, t)
    tables: np.ndarray  # uint32 (s, 64), alias tables of delays
    first: np.ndarray  # int32 0-d, the first of the targets that are wanted

    @property
    def synapses(self) -> int:
        return int(self.degrees.sum(dtype=np.int64))

    @property
    def out_degrees(self) -> np.ndarray:
        return self.degrees.sum(axis=1)

    @property
    def nbytes(self) -> int:
        return sum(x.nbytes for x in self)


def drawing_of(drawn: Projections, model: Microcircuit, key: int) -> Drawing:
    """Draw the out-degrees of every row. Raise ModelError if int32 cannot count the synapses."""
    total = int(drawn.synapses.sum())
    if total > MAX_SYNAPSES:
        raise ModelError(f"{total} synapses are more than int32 indices can count")
    means = np.ascontiguousarray(drawn.weights.T, np.float32)
    tables = [delay_table(d / model.dt, model.delay_rel_sd * d / model.dt) for d in drawn.delays]
    return Drawing(
        key=np.array(key, np.uint32),
        degrees=out_degrees(drawn, key),
        populations=np.repeat(np.arange(drawn.sources.size, dtype=np.int32), drawn.sources),
        starts=model.first[:-1].astype(np.int32),
        sizes=model.sizes.astype(np.int32),
        means=means,
        sds=np.abs(means) * np.float32(model.weight_rel_sd),
        tables=np.stack(tables),
        first=np.array(0, np.int32),
    )


def recurrent_drawing(model: Microcircuit, seed: int) -> Drawing:
    """Return what the synapses between the neurons are drawn from."""
    return drawing_of(Projections.recurrent(model), model, key_of(seed, RECURRENT))


def recurrent_connectivity(
    model: Microcircuit, seed: int, on_progress: Callable[[int], None] = lambda done: None
) -> Connectivity:
    """Draw the synapses between the neurons; call `on_progress(synapses done)` now and then."""
    return connect(recurrent_drawing(model, seed), model.neurons, on_progress)


def thalamic_drawing(model: Microcircuit, seed: int) -> Drawing:
    """Return what the synapses of the thalamic neurons are drawn from."""
    return drawing_of(Projections.thalamic(model), model, key_of(seed, THALAMIC))


def thalamic_connectivity(model: Microcircuit, seed: int) -> Connectivity:
    """Draw the synapses of the thalamic neurons."""
    return connect(thalamic_drawing(model, seed), model.neurons)


def source_ends(drawn: Drawing, targets: int) -> np.ndarray:
    """(sources + 1,), int32: where the synapses of each source end, with so many targets."""
    counts = np.empty(drawn.populations.size, np.int32)
    low = int(drawn.first)
    count_rows(int(drawn.key), drawn.degrees, drawn.starts, drawn.sizes, low, low + targets, counts)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def connect(
    drawn: Drawing,
    targets: int,
    on_progress: Callable[[int], None] = lambda done: None,
    *,
    room: int | None = None,
) -> Connectivity:
    """Draw the synapses onto `targets` neurons from `drawn.first` on, which the columns count from.

    They are functions of the key, whatever the number of threads. `room` is the length of data and indices,
    if it is to be more than the synapses.
    """
    ends = source_ends(drawn, targets)
    total, rows = int(ends[-1]), (ends.size - 1) * SLOTS
    size = total if room is None else room
    data, indices = aligned_empty(size, np.float32), aligned_empty(size, np.int32)
    indptr = aligned_empty(rows + 1, np.int32)
    data[total:], indices[total:], indptr[0] = 0, 0, 0
    for low, high in slices(ends):
        fill_rows(low, high, ends, *drawn, targets, data, indices, indptr)
        on_progress(int(ends[high]))
    return Connectivity(data, indices, indptr, targets)


def out_degrees(drawn: Projections, key: int) -> np.ndarray:
    """(sources, t), int32: how many synapses each neuron has onto each target population."""
    first = np.concatenate([[0], np.cumsum(drawn.sources)])
    degrees = np.zeros((first[-1], len(POPULATIONS)), np.int32)
    for (target, source), synapses in np.ndenumerate(drawn.synapses):
        counts = np.zeros((numba.get_num_threads(), drawn.sources[source]), np.int32)
        count_sources(key, target * drawn.sources.size + source, synapses, counts)
        degrees[first[source] : first[source + 1], target] = counts.sum(axis=0)
    return degrees


def slices(indptr: np.ndarray) -> list[tuple[int, int]]:
    """Split the rows into ranges with about as many synapses each."""
    goals = np.arange(0, indptr[-1], SYNAPSES_AT_ONCE)
    edges = np.unique([*np.searchsorted(indptr, goals), indptr.size - 1])
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def aligned_empty(size: int, dtype: type) -> np.ndarray:
    """Return an array that begins at a multiple of ALIGNMENT."""
    memory = np.empty(size * np.dtype(dtype).itemsize + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size * np.dtype(dtype).itemsize].view(dtype)
