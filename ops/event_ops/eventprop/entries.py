"""Synapses with a delay each, in rows of a sparse matrix, and their arrivals step by step.

The entries of a row are visited in the order of their delays, so a spike that is under way is a place in that
order: nothing is stored for an arrival before the step in which it comes.
"""

from typing import Any, NamedTuple

import numpy as np

from event_ops.eventprop.arrivals import Chains, Sample, source
from event_ops.eventprop.dynamics import Neuron, factors
from event_ops.kernels.numba_cpu.jit import njit


class Entries(NamedTuple):
    """Hold weights, delays and structure of all entries; `order`: rows sorted by delay.

    `first` has the shortest delay of each row, inf for an empty one.
    """

    weights: Any
    delays: Any
    indices: Any
    indptr: Any
    order: Any
    first: Any


class UnderWay(NamedTuple):
    """Hold spikes that have not arrived everywhere: the places [begin, end) of each arrive in a step."""

    spikes: Any
    begin: Any
    end: Any


class Table(NamedTuple):
    """Hold the arrivals of a step: entry, neuron, spike, time since it began, and factors of the time left.

    `head` has the first arrival at each neuron, `following` the next one at the same neuron; -1: none;
    `places` is room for all of a neuron.
    """

    entries: Any
    neurons: Any
    spikes: Any
    offsets: Any
    left: Any
    head: Any
    following: Any
    places: Any


@njit
def sorted_rows(weights: Any, delays: Any, indices: Any, indptr: Any) -> tuple[Any, Any]:
    """Return the entries of each row by their delays, and the first delay of each row."""
    rows = indptr.size - 1
    order, first = np.empty(delays.size, np.int64), np.full(rows, np.inf)
    for i in range(rows):
        # A broken indptr stays inside the arrays.
        begin, end = max(0, indptr[i]), min(indptr[i + 1], delays.size)
        if end > begin:
            places = np.argsort(delays[begin:end])
            for k in range(places.size):
                order[begin + k] = begin + places[k]
            first[i] = delays[order[begin]]
    return order, first


@njit
def new_under_way(spikes: int) -> UnderWay:
    """Return room for as many spikes."""
    return UnderWay(np.empty(spikes, np.int64), np.empty(spikes, np.int64), np.empty(spikes, np.int64))


@njit(_nrt=False)
def joined(
    chains: Chains, step: int, sample: Sample, entries: Entries, under_way: UnderWay, count: int
) -> int:
    """Add the spikes whose first arrival is in a step; return how many are under way."""
    spike = chains.first[step]
    while spike >= 0:
        row, time = source(sample, spike)
        place, end = max(0, entries.indptr[row]), min(entries.indptr[row + 1], entries.order.size)
        # What arrives before the run does nothing.
        while place < end and time + float(entries.delays[entries.order[place]]) < 0:
            place += 1
        under_way.spikes[count], under_way.end[count] = spike, place
        count += 1
        spike = chains.following[spike]
    return count


@njit(_nrt=False)
def passed(
    entries: Entries, sample: Sample, under_way: UnderWay, count: int, until: float
) -> tuple[int, int]:
    """Let spikes pass their entries that arrive before `until`; return how many are left, and of arrivals."""
    kept = total = 0
    for c in range(count):
        row, time = source(sample, under_way.spikes[c])
        begin = place = under_way.end[c]
        end = min(entries.indptr[row + 1], entries.order.size)
        while place < end and time + float(entries.delays[entries.order[place]]) < until:
            place += 1
        # Those that end here stay for this step, and go at the next one.
        if begin < end:
            under_way.spikes[kept] = under_way.spikes[c]
            under_way.begin[kept], under_way.end[kept] = begin, place
            kept, total = kept + 1, total + place - begin
    return kept, total


@njit
def new_table(arrivals: int, neurons: int) -> Table:
    """Return room for the arrivals of a step."""
    ids, head = np.empty((5, arrivals), np.int64), np.full(neurons, -1, np.int64)
    return Table(ids[0], ids[1], ids[2], np.empty(arrivals), np.empty((arrivals, 3)), head, ids[3], ids[4])


@njit(_nrt=False)
def fill(
    table: Table, entries: Entries, sample: Sample, under_way: UnderWay, count: int, step: int, dt: float
) -> int:
    """Fill in the arrivals of a step, and return how many there are; an index out of range is no neuron."""
    size = 0
    for c in range(count):
        spike = under_way.spikes[c]
        _, time = source(sample, spike)
        for place in range(under_way.begin[c], under_way.end[c]):
            e = entries.order[place]
            j = np.int64(entries.indices[e])
            if 0 <= j < table.head.size:
                offset = min(max(time + float(entries.delays[e]) - step * dt, 0.0), dt)
                table.entries[size], table.neurons[size], table.spikes[size] = e, j, spike
                table.offsets[size] = offset
                table.following[size], table.head[j] = table.head[j], size
                size += 1
    return size


@njit(_nrt=False)
def fill_factors(table: Table, size: int, neuron: Neuron) -> None:
    """Fill in the factors of the time that is left behind each arrival."""
    for q in range(size):
        of_V, of_I, gain = factors(neuron.dt - table.offsets[q], neuron)
        table.left[q, 0], table.left[q, 1], table.left[q, 2] = of_V, of_I, gain


class Kept(NamedTuple):
    """Hold the spikes that are under way, and how many they are."""

    under_way: UnderWay
    count: Any


@njit
def new_kept(spikes: int) -> Kept:
    """Return room for the spikes that are under way."""
    return Kept(new_under_way(spikes), np.zeros(1, np.int64))


@njit
def arriving(
    entries: Entries, kept: Kept, chains: Chains, sample: Sample, neurons: int, k: int, dt: float
) -> tuple[Table, int]:
    """Return the arrivals of step k, and how many there are; steps come in their order."""
    under_way = kept.under_way
    count = joined(chains, k, sample, entries, under_way, kept.count[0])
    kept.count[0], total = passed(entries, sample, under_way, count, (k + 1) * dt)
    table = new_table(total, neurons)
    return table, fill(table, entries, sample, under_way, kept.count[0], k, dt)


class Passages(NamedTuple):
    """Hold the spikes under way in all steps: step k has them from `starts[k]` to `starts[k + 1]`."""

    spikes: Any
    begin: Any
    end: Any
    starts: Any


@njit
def longer(x: Any, size: int) -> Any:
    """Return a copy of an array with room for `size`, or for twice as many as it has."""
    y = np.empty(max(size, 2 * x.size), x.dtype)
    for k in range(x.size):
        y[k] = x[k]
    return y


@njit
def all_passages(entries: Entries, chains: Chains, sample: Sample, dt: float) -> Passages:
    """Return which entries spikes pass in all steps, as a run forwards has passed them."""
    steps, count, total = chains.first.size, np.int64(0), 0
    under_way = new_under_way(chains.following.size)
    spikes, begin, end = np.empty(1, np.int64), np.empty(1, np.int64), np.empty(1, np.int64)
    starts = np.zeros(steps + 1, np.int64)
    for k in range(steps):
        count = joined(chains, k, sample, entries, under_way, count)
        count, _ = passed(entries, sample, under_way, count, (k + 1) * dt)
        if total + count > spikes.size:
            spikes = longer(spikes, total + count)
            begin = longer(begin, total + count)
            end = longer(end, total + count)
        for c in range(count):
            spikes[total + c] = under_way.spikes[c]
            begin[total + c], end[total + c] = under_way.begin[c], under_way.end[c]
        total += count
        starts[k + 1] = total
    return Passages(spikes, begin, end, starts)


@njit
def arriving_again(
    entries: Entries, passages: Passages, sample: Sample, neurons: int, k: int, dt: float
) -> tuple[Table, int]:
    """Return the arrivals of step k, and how many there are; steps come in any order."""
    low, high = passages.starts[k], passages.starts[k + 1]
    under_way = UnderWay(passages.spikes[low:high], passages.begin[low:high], passages.end[low:high])
    table = new_table((under_way.end - under_way.begin).sum(), neurons)
    return table, fill(table, entries, sample, under_way, high - low, k, dt)
