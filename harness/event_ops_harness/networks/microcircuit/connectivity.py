"""Who projects to whom: a matrix of words with a row for each source and delay, in parts of the targets.

A weight is a code of CODE_BITS bits times the scale of the matrix, 0.036 pA at full scale, so that rounding
moves a weight by at most 0.0002 of the mean of the excitatory ones, which vary by 0.1 of it. With more
neurons than the full model has, a code has the bits that the number of a target leaves of 32.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numba
import numpy as np

from event_ops.checks.packed_entries import WORD_BITS, equal_starts, index_bits
from event_ops.kernels.reference.random_numbers import philox2x32
from event_ops_harness.networks.microcircuit.model import POPULATIONS, Microcircuit, ModelError
from event_ops_harness.networks.microcircuit.rows import (
    SLOTS,
    count_rows,
    count_sources,
    delay_table,
    fill_rows,
)

CODE_BITS = 15  # at most, with the sign; 17 are left for a target
LARGEST_DEVIATE = 6.7  # of `rows.normals_into`
ALIGNMENT = 64  # bytes: JAX takes such an array as it is, without a copy
SYNAPSES_AT_ONCE = 1 << 20  # by one thread, and between two moves of the progress bar
SYNAPSES_A_PART = 1 << 22  # with fewer, a part costs more than a thread of its own saves
MAX_SYNAPSES = np.iinfo(np.int32).max

# Independent streams of random numbers from one seed.
RECURRENT, THALAMIC, BACKGROUND = range(3)


def key_of(seed: int, stream: int) -> int:
    """Return the key of a stream of random numbers, from the seed of the simulation."""
    # Philox takes words of 32 bits.
    x, y = (np.array([word], np.uint32) for word in (seed & 0xFFFFFFFF, stream))
    return int(philox2x32(x, y, np.array([0], np.uint32))[0][0])


class Synapses(NamedTuple):
    """Hold a matrix of words in parts, as `compact_event_arrivals` takes it: 4 bytes a synapse.

    Row i * SLOTS + d of each part has the synapses of source i with a delay of d steps onto its targets:
    `equal_starts` divides them among the parts.
    """

    entries: Any  # uint32 (nse,), a target and the code of a weight
    indptr: Any  # int32 (parts, sources * SLOTS + 1)
    scale: Any  # float32 0-d, pA: the weight of the code 1


class Drawing(NamedTuple):
    """Hold the numbers that rows are drawn from: a few bytes a neuron, from which the matrix follows."""

    key: np.ndarray  # uint32 0-d
    degrees: np.ndarray  # int32 (sources, t), synapses of each neuron onto each target population
    populations: np.ndarray  # int32 (sources,), of the sources
    bounds: np.ndarray  # int32 (t + 1,), the first neuron of each target population, and the end of the last
    weights: np.ndarray  # float32 (2, s, t), their means and standard deviations in units of the scale
    tables: np.ndarray  # uint32 (s, 64), alias tables of delays
    first: np.ndarray  # int32 0-d, the first of the targets that are wanted
    scale: np.ndarray  # float32 0-d, pA: what a weight is a multiple of

    @property
    def synapses(self) -> int:
        return int(self.degrees.sum(dtype=np.int64))

    @property
    def out_degrees(self) -> np.ndarray:
        return self.degrees.sum(axis=1)


def drawing_of(
    model: Microcircuit,
    key: int,
    sources: np.ndarray,
    synapses: np.ndarray,
    weights: np.ndarray,
    delays: np.ndarray,
) -> Drawing:
    """Draw the out-degrees of every row. Raise ModelError if int32 cannot count the synapses.

    sources: (s,), neurons of each source population. synapses: (t, s), onto each target population. weights:
    (t, s), means in pA. delays: (s,), means in ms.
    """
    total = int(synapses.sum())
    if total > MAX_SYNAPSES:
        raise ModelError(f"{total} synapses are more than int32 indices can count")
    means = np.ascontiguousarray(weights.T)
    # Deviates are bounded, so that no weight exceeds the largest code.
    largest = np.abs(means).max() * (1 + LARGEST_DEVIATE * model.weight_rel_sd)
    bits = min(CODE_BITS, WORD_BITS - index_bits(model.neurons))
    scale = np.float32(largest / (2 ** (bits - 1) - 1))
    tables = [delay_table(d / model.dt, model.delay_rel_sd * d / model.dt) for d in delays]
    return Drawing(
        key=np.array(key, np.uint32),
        degrees=out_degrees(key, sources, synapses),
        populations=np.repeat(np.arange(sources.size, dtype=np.int32), sources),
        bounds=model.first.astype(np.int32),
        weights=np.stack([means / scale, np.abs(means) * model.weight_rel_sd / scale]).astype(np.float32),
        tables=np.stack(tables),
        first=np.array(0, np.int32),
        scale=np.array(scale),
    )


def recurrent_drawing(model: Microcircuit, seed: int) -> Drawing:
    """Return the drawing of the synapses between the neurons."""
    key = key_of(seed, RECURRENT)
    return drawing_of(model, key, model.sizes, model.synapses, model.weights, model.delays)


def thalamic_drawing(model: Microcircuit, seed: int) -> Drawing:
    """Return the drawing of the synapses of the thalamic neurons, whose delays are excitatory ones."""
    synapses, sources = model.thalamic_synapses[:, None], np.array([model.thalamic_neurons])
    weights = np.full(synapses.shape, model.weight_ext)
    return drawing_of(model, key_of(seed, THALAMIC), sources, synapses, weights, model.delays[:1])


def recurrent_connectivity(
    model: Microcircuit,
    seed: int,
    on_progress: Callable[[int], None] = lambda done: None,
    *,
    parts: int | None = None,
) -> Synapses:
    """Draw the synapses between the neurons, as `connect` does."""
    return connect(recurrent_drawing(model, seed), model.neurons, on_progress, parts=parts)


def source_ends(drawn: Drawing, starts: np.ndarray) -> np.ndarray:
    """(parts, sources + 1), int32: where the synapses of each source onto a part of the targets end."""
    counts = np.empty((starts.size - 1, drawn.populations.size), np.int32)
    args = np.uint64(drawn.key), drawn.degrees, drawn.bounds, starts + drawn.first, counts
    all_ends = np.concatenate([[0], np.cumsum(drawn.out_degrees)])
    list(on_threads(lambda rows: count_rows(*rows, *args), slices(all_ends)))
    ends = np.concatenate([[0], np.cumsum(counts)])
    # The parts lie one behind the other: each begins where the one before it ends.
    return np.stack([ends[part * counts.shape[1] :][: counts.shape[1] + 1] for part in range(len(counts))])


def connect(
    drawn: Drawing,
    targets: int,
    on_progress: Callable[[int], None] = lambda done: None,
    *,
    parts: int | None = None,
    room: int | None = None,
) -> Synapses:
    """Draw the synapses onto `targets` neurons from `drawn.first` on, which the columns count from.

    Call `on_progress(synapses done)` now and then. They are functions of the key, whatever the number of
    threads, and of parts, by default one for each thread that has enough of them, or one in all for a GPU.
    `room` is the length of entries, if it is to be more than the synapses.
    """
    if parts is None:
        most = numba.get_num_threads() if jax.default_backend() == "cpu" else 1
        parts = max(1, min(most, int(drawn.out_degrees.sum()) // SYNAPSES_A_PART))
    starts = equal_starts(targets, parts)  # as other operators divide neurons among the threads
    ends = source_ends(drawn, starts)
    total, rows = int(ends[-1, -1]), drawn.populations.size * SLOTS
    entries = aligned_empty((total if room is None else room,), np.uint32)
    indptr = aligned_empty((parts, rows + 1), np.int32)
    entries[total:], indptr[:, 0] = 0, ends[:, 0]
    key, first = np.uint64(drawn.key), int(drawn.first)
    args = ends, key, drawn[1:-2], first, starts, index_bits(targets), entries, indptr
    # By the synapses onto all parts together, since a thread draws a row for all of them.
    ranges = slices((ends - ends[:, :1]).sum(axis=0))
    for (_, high), _ in zip(ranges, on_threads(lambda rows: fill_rows(*rows, *args), ranges), strict=True):
        on_progress(int((ends[:, high] - ends[:, 0]).sum()))
    return Synapses(entries, indptr, drawn.scale)


def out_degrees(key: int, sources: np.ndarray, synapses: np.ndarray) -> np.ndarray:
    """(sources, t), int32: how many synapses each neuron has onto each target population."""
    first = np.concatenate([[0], np.cumsum(sources)])
    degrees = np.zeros((first[-1], len(POPULATIONS)), np.int32)

    def count(projection: tuple[int, int]) -> None:
        target, source = projection
        counts = np.zeros(sources[source], np.int32)
        # Each projection is a stream of random numbers: see `rows.py`.
        number = target * sources.size + source
        count_sources(np.uint64(key), number, synapses[projection], counts)
        degrees[first[source] : first[source + 1], target] = counts

    list(on_threads(count, np.ndindex(synapses.shape)))
    return degrees


def on_threads(work: Callable[[Any], None], each: Iterable[Any]) -> Iterator[None]:
    """Do the work for each argument, several at a time; yield when it is done, in their order."""
    with ThreadPoolExecutor(numba.get_num_threads()) as threads:
        yield from threads.map(work, each)


def slices(ends: np.ndarray) -> list[tuple[int, int]]:
    """Split the sources into ranges of about SYNAPSES_AT_ONCE synapses, given where each source's end."""
    goals = np.arange(0, ends[-1], SYNAPSES_AT_ONCE)
    edges = np.unique([0, *np.searchsorted(ends, goals), ends.size - 1])
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def aligned_empty(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Return an array that begins at a multiple of ALIGNMENT."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)
