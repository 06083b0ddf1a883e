"""Who projects to whom: CSR with rows = sources, columns = targets, rows in the order of their delays."""

from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy as np

from event_ops.philox import philox2x32
from event_ops_harness.microcircuit.model import EXCITATORY, POPULATIONS, Microcircuit, ModelError
from event_ops_harness.microcircuit.rows import count_sources, delay_table, fill_rows

ALIGNMENT = 64  # bytes: JAX takes such an array as it is, without a copy
SYNAPSES_AT_ONCE = 1 << 22  # between two moves of the progress bar
MAX_SYNAPSES = np.iinfo(np.int32).max

# Names of independent streams of random numbers from one seed.
RECURRENT, THALAMIC, BACKGROUND, PULSE = range(4)


def key_of(seed: int, stream: int) -> int:
    """The key of a stream, from the seed of the simulation."""
    x, y = (np.array([word], np.uint32) for word in (seed & 0xFFFFFFFF, stream))
    return int(philox2x32(x, y, np.array([0], np.uint32))[0][0])


@dataclass(frozen=True)
class Connectivity:
    """CSR of shape (sources, targets): 9 bytes a synapse, and the rows' ends."""

    data: np.ndarray  # float32 (nse,), pA
    indices: np.ndarray  # int32 (nse,)
    indptr: np.ndarray  # int32 (sources + 1,)
    delays: np.ndarray  # uint8 (nse,), steps
    targets: int

    @property
    def sources(self) -> int:
        return self.indptr.size - 1

    @property
    def synapses(self) -> int:
        return self.indices.size

    @property
    def shape(self) -> tuple[int, int]:
        return self.sources, self.targets

    @property
    def nbytes(self) -> int:
        return sum(x.nbytes for x in (self.data, self.indices, self.indptr, self.delays))


@dataclass(frozen=True)
class Projections:
    """What the synapses of a matrix are drawn from: by source population s, and target population t."""

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


def recurrent_connectivity(
    model: Microcircuit, seed: int, on_progress: Callable[[int], None] = lambda done: None
) -> Connectivity:
    """The synapses between the neurons; `on_progress(synapses done)` now and then."""
    return connect(Projections.recurrent(model), model, key_of(seed, RECURRENT), on_progress)


def thalamic_connectivity(model: Microcircuit, seed: int) -> Connectivity:
    """The synapses of the thalamic neurons."""
    return connect(Projections.thalamic(model), model, key_of(seed, THALAMIC))


def connect(
    drawn: Projections,
    model: Microcircuit,
    key: int,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Connectivity:
    """Draw the synapses; the same for one key, whatever the number of threads.

    Raises ModelError if there are more synapses than int32 can count.
    """
    total = int(drawn.synapses.sum())
    if total > MAX_SYNAPSES:
        raise ModelError(f"{total} synapses are more than int32 indices can count")
    degrees = out_degrees(drawn, key)
    indptr = np.concatenate([[0], np.cumsum(degrees.sum(axis=1))]).astype(np.int32)
    data, indices = aligned_empty(total, np.float32), aligned_empty(total, np.int32)
    delays = aligned_empty(total, np.uint8)
    populations = np.repeat(np.arange(drawn.sources.size), drawn.sources)
    means = np.ascontiguousarray(drawn.weights.T)
    tables = np.stack([delay_table(d / model.dt, model.delay_rel_sd * d / model.dt) for d in drawn.delays])
    sds = np.abs(means) * model.weight_rel_sd
    parts = (model.first[:-1], model.sizes, means, sds, tables)
    for low, high in slices(indptr):
        fill_rows(low, high, key, indptr, degrees, populations, *parts, data, indices, delays)
        on_progress(int(indptr[high]))
    return Connectivity(data, indices, indptr, delays, model.neurons)


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
    """Ranges of rows with about as many synapses each."""
    goals = np.arange(0, indptr[-1], SYNAPSES_AT_ONCE)
    edges = np.unique([*np.searchsorted(indptr, goals), indptr.size - 1])
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def aligned_empty(size: int, dtype: type) -> np.ndarray:
    """An array that begins at a multiple of ALIGNMENT."""
    memory = np.empty(size * np.dtype(dtype).itemsize + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size * np.dtype(dtype).itemsize].view(dtype)
