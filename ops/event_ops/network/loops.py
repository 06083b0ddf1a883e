"""Loops of a run on the CPU: lists of spikes, arrivals, the history at the ends, and the record.

Spikes that are under way wait as lists of neurons, one for each step, and are delivered when they arrive: to
the state itself, so that there is no buffer of sums for each delay to read and clear in every step. A share
of a step lists the spikes of its own neurons; one share of the next step joins these lists.
"""

from typing import Any, NamedTuple

import numpy as np

from event_ops.kernels.numba_cpu.arrivals import add_words
from event_ops.kernels.numba_cpu.deliver import add_rows
from event_ops.kernels.numba_cpu.dense_products import ROWS
from event_ops.kernels.numba_cpu.encodings import list_part
from event_ops.kernels.numba_cpu.jit import INLINED, njit
from event_ops.kernels.numba_cpu.packed_events import BITS, set_bits_into
from event_ops.kernels.numba_cpu.ranges import add_rows_to_range, add_words_to_range

# Neurons whose states fill a cache line, so that few lines belong to two shares; and so many counts.
_TOGETHER = 16
_LINE = 8
# At a spike a synapse that learns takes as long as so many static ones, in hpc_benchmark.
_LEARNING = 8.0


class Sent(NamedTuple):
    """Hold the spikes of a population: lists of all steps under way, and of each share for the last two."""

    lists: Any  # uint32 (slots, neurons)
    counts: Any  # uintp (slots,)
    parts: Any  # uint32 (2, neurons): those of each share from its first neuron on
    lengths: Any  # uintp (2, shares, 8), of which the first counts
    bounds: Any  # int64 (shares + 1,): the first neuron of each share, and the end


@njit
def bounds_of(starts: Any, shares: Any) -> Any:
    """Return where the ranges of equal shares begin, and the end; as many parts as shares are the ranges."""
    bounds, parts = np.empty(shares + 1, np.int64), starts.size - 1
    for share in range(shares + 1):
        part, rest = share * parts // shares, share * parts % shares
        bounds[share] = starts[part]
        if rest:
            width = np.int64(starts[part + 1]) - np.int64(starts[part])
            bounds[share] += width * rest // shares // _TOGETHER * _TOGETHER
    return bounds


@njit
def bounds_by_cost(costs: Any, shares: Any) -> Any:
    """Return where ranges of equal cost begin, and the end; costs[j] is that of the first j neurons."""
    bounds, size, j = np.empty(shares + 1, np.int64), costs.size - 1, 0
    for share in range(shares):
        while j < size and costs[j] < costs[size] * share / shares:
            j += 1
        bounds[share] = j // _TOGETHER * _TOGETHER
    bounds[shares] = size
    return bounds


@njit
def synapse_costs(size: Any, static: Any) -> Any:
    """Return the costs of the first 0, 1, 2, ... neurons: of their equal shares of `static` synapses."""
    return np.arange(size + 1) * (static / size)


@njit
def add_learning(costs: Any, ends: Any) -> None:
    """Add the costs of synapses that learn, of which ends[j] lead to the first j neurons."""
    for j in range(np.uintp(costs.size)):
        costs[j] += _LEARNING * ends[j]


@njit
def lists_of(history: Any, size: Any) -> Any:
    """Return lists of the spikes of all steps of a history of bits, and their lengths."""
    slots, room = history.shape[0], history.shape[1] * BITS  # also for bits that no neuron has
    lists, counts = np.empty((slots, room), np.uint32), np.empty(slots, np.uintp)
    for slot in range(np.uintp(slots)):
        counts[slot] = set_bits_into(history[slot], size, lists[slot])
    return lists, counts


@njit
def parts_of(lists: Any, counts: Any, bounds: Any, begin: Any) -> Any:
    """Return lists for each share of the spikes of the two steps before `begin`, and their lengths."""
    shares, slots = bounds.size - 1, np.uintp(counts.size)
    parts, lengths = np.empty((2, lists.shape[1]), np.uint32), np.zeros((2, shares, _LINE), np.uintp)
    slot, row, position = (np.uintp(begin) + slots - np.uintp(1)) % slots, (begin + 1) % 2, np.uintp(0)
    for share in range(shares):
        while position < counts[slot] and lists[slot, position] < bounds[share + 1]:
            parts[row, np.uintp(bounds[share]) + lengths[row, share, 0]] = lists[slot, position]
            lengths[row, share, 0] += np.uintp(1)
            position += np.uintp(1)
    return parts, lengths


@njit
def write_history(sent: Any, history: Any) -> None:
    """Write the listed spikes of all steps as bits."""
    for slot in range(np.uintp(history.shape[0])):
        history[slot, :] = 0
        for position in range(sent.counts[slot]):
            i = np.uintp(sent.lists[slot, position])
            history[slot, i // BITS] |= np.uint32(1) << np.uint32(i % BITS)


@njit(**INLINED)
def add_values(values: Any, every: Any, step: Any, y: Any, low: Any, high: Any) -> None:
    """Add the row of a step, a number for each neuron or one for all, to a range of y."""
    row, last = np.uintp(step) // np.uintp(every), np.uintp(values.shape[1] - 1)
    if last > 0:
        for j in range(np.uintp(low), np.uintp(high)):
            y[j] += values[row, j]
    else:
        for j in range(np.uintp(low), np.uintp(high)):
            y[j] += values[row, 0]


@njit
def add_train(weight: Any, ids: Any, spans: Any, step: Any, y: Any, low: Any, high: Any) -> None:
    """Add the given spikes of a step, sorted by neuron, to a range of y."""
    k, end = np.uintp(spans[step]), np.uintp(spans[step + 1])
    while k < end:
        j, number = ids[k], 0
        while k < end and ids[k] == j:
            number, k = number + 1, k + np.uintp(1)
        if low <= j < high:
            y[j] += weight[j] * y.dtype.type(number)


@njit(**INLINED)
def list_spikes(spikes: Any, sent: Any, time: Any, share: Any) -> None:
    """List the spikes of a step in the range of a share."""
    low, high = sent.bounds[share], sent.bounds[share + 1]
    found = list_part(spikes[low:high], low, sent.parts[time % 2, low:high])
    sent.lengths[time % 2, share, 0] = found


@njit(**INLINED)
def add_entries(matrix: Any, lists: Any, rows: Any, each: Any, y: Any, low: Any, high: Any) -> None:
    """Add rows of a CSR matrix to a range of y."""
    data, indices, indptr = matrix
    if high - low == y.size:
        add_rows(data, indices, indptr, lists, rows, y)
    else:
        add_rows_to_range(data, indices, indptr, rows, y, low, high)


@njit
def add_parts(matrix: Any, lists: Any, rows: Any, each: Any, y: Any, low: Any, high: Any) -> None:
    """Add rows of words to a range of y, part by part; `each` of them have a scale together."""
    entries, ends, scale, starts = matrix
    for part in range(ends.shape[0]):
        begin, end = max(low, np.int64(starts[part])), min(high, np.int64(starts[part + 1]))
        if begin < end and end - begin == starts[part + 1] - starts[part]:
            add_words(entries, ends, scale, lists, rows, each, starts, y, part)
        elif begin < end:
            add_words_to_range(matrix, part, lists, rows, each, y, begin, end)


@njit(**INLINED)
def add_dense(matrix: Any, lists: Any, rows: Any, each: Any, y: Any, low: Any, high: Any) -> None:
    """Add rows of a dense matrix to a range of y, in their order; four are added while a sum is at hand."""
    weights, fours = matrix[0], np.uintp(rows.size) // ROWS * ROWS
    for position in range(np.uintp(0), fours, ROWS):
        a, b = weights[rows[position]], weights[rows[position + np.uintp(1)]]
        c, d = weights[rows[position + np.uintp(2)]], weights[rows[position + np.uintp(3)]]
        for j in range(np.uintp(low), np.uintp(high)):
            y[j] = y[j] + a[j] + b[j] + c[j] + d[j]
    for position in range(fours, np.uintp(rows.size)):
        row = weights[rows[position]]
        for j in range(np.uintp(low), np.uintp(high)):
            y[j] += row[j]


def make_deliver(add: Any, **options: Any) -> Any:
    """Return the function that adds the rows of the spikes that arrive now to a range of y.

    `ages`: of the rows of a neuron, with -1 for those that are empty; `newest`: the age whose spikes are
    still in the lists of shares.
    """

    @njit(**options)
    def deliver(
        matrix: Any, ages: Any, sent: Any, time: Any, newest: Any, rows: Any, y: Any, low: Any, high: Any
    ) -> None:
        slots, each, found = np.uintp(sent.counts.size), np.uintp(ages.size), np.uintp(0)
        now, row = np.uintp(time) % slots, (np.uintp(time) - newest) % np.uintp(2)
        turn = np.uintp(time) % each
        for k in range(each):
            # In the order of a history of the projection's own, as operators read it.
            place = k - turn if turn <= k else k + each - turn
            if ages[place] < 0:
                continue
            age = np.uintp(ages[place])
            slot = now - age if age <= now else now + slots - age
            first, shares = age if each > np.uintp(1) else np.uintp(0), sent.lengths.shape[1]
            for share in range(np.uintp(shares if age == newest else 1)):
                if age == newest:
                    begin = np.uintp(sent.bounds[share])
                    ids = sent.parts[row, begin : begin + sent.lengths[row, share, 0]]
                else:
                    ids = sent.lists[slot, : sent.counts[slot]]
                if found + np.uintp(ids.size) > np.uintp(rows.size):
                    add(matrix, sent.lists, rows[:found], each, y, low, high)
                    found = np.uintp(0)
                for position in range(np.uintp(ids.size)):
                    rows[found + position] = np.uintp(ids[position]) * each + first
                found += np.uintp(ids.size)
        if found:
            add(matrix, sent.lists, rows[:found], each, y, low, high)

    return deliver


deliver_dense = make_deliver(add_dense, **INLINED)
# Words are added by functions that allocate.
deliver_entries, deliver_words = make_deliver(add_entries, **INLINED), make_deliver(add_parts)


@njit(**INLINED)
def end_step(sent: Any, time: Any, first: Any, found: Any, times: Any, ids: Any) -> None:
    """Join the lists of a step, and record its spikes behind the `found` first, as many as have room."""
    slot, count, room = np.uintp(time) % np.uintp(sent.counts.size), np.uintp(0), np.uintp(ids.size)
    for share in range(np.uintp(sent.lengths.shape[1])):
        begin = np.uintp(sent.bounds[share])
        for position in range(sent.lengths[time % 2, share, 0]):
            sent.lists[slot, count] = sent.parts[time % 2, begin + position]
            count += np.uintp(1)
    sent.counts[slot] = count
    for position in range(min(count, room - min(found[0], room))):
        times[found[0] + position] = time
        ids[found[0] + position] = np.int32(sent.lists[slot, position]) + first
    found[0] += count


@njit(**INLINED)
def record_state(state: Any, chosen: Any, row: Any, low: Any, high: Any) -> None:
    """Write the states of chosen neurons of a range."""
    for k in range(np.uintp(chosen.size)):
        if low <= chosen[k] < high:
            row[k] = state[chosen[k]]


@njit(**INLINED)
def count_spikes(is_first: Any, spikes: Any, chosen: Any, row: Any, low: Any, high: Any) -> None:
    """Add the spikes of chosen neurons of a range to their counts, which begin in the first step of a row."""
    for k in range(np.uintp(chosen.size)):
        if low <= chosen[k] < high:
            row[k] = row.dtype.type(spikes[chosen[k]]) + (row.dtype.type(0) if is_first else row[k])


@njit
def end_record(found: Any, total: Any, times: Any, ids: Any) -> Any:
    """Write padding behind the recorded spikes; return the number of all, as far as int32 counts."""
    for position in range(np.uintp(found), np.uintp(ids.size)):
        times[position], ids[position] = -1, total
    return min(np.uintp(found), np.uintp(np.iinfo(np.int32).max))
