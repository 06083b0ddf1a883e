"""Loops of a run that is differentiated: spikes as bits, their delivery, and its transpose.

A row of bits holds the spikes of one step of one sample; `lead` rows in front hold those before the run, so
that step s is row lead + s. Cotangents of what arrives wait in rings, of which step s has row s % rows.
"""

from typing import Any

import numpy as np

from event_ops.kernels.numba_cpu.jit import INLINED, REORDER, njit
from event_ops.kernels.numba_cpu.packed_events import pack_into, set_bits_into
from event_ops.network.loops import add_dense, add_entries

__all__ = ["add_dense", "add_entries"]


@njit
def pack(spikes: Any, row: Any) -> None:
    """Write spikes, which are not 0, as bits."""
    flags = np.empty(spikes.size, np.bool_)
    for i in range(np.uintp(spikes.size)):
        flags[i] = spikes[i] != 0
    pack_into(flags, row.view(np.uint8))


@njit
def read_history(history: Any, begin: Any, bits: Any, lead: Any) -> None:
    """Copy the spikes before step `begin` to the front of the rows."""
    for before in range(1, lead + 1):
        bits[lead - before] = history[(begin - before) % history.shape[0]]


@njit
def write_history(history: Any, end: Any, bits: Any) -> None:
    """Copy the spikes of the last steps before step `end`."""
    for before in range(1, history.shape[0] + 1):
        history[(end - before) % history.shape[0]] = bits[bits.shape[0] - before]


@njit
def list_step(
    row: Any, size: Any, first: Any, now: Any, found: Any, times: Any, ids: Any, listed: Any
) -> Any:
    """List the spikes of a step behind the `found` first, as many as have room; return their new number."""
    count = np.int64(set_bits_into(row, size, listed))
    for position in range(min(count, max(ids.size - found, 0))):
        times[found + position] = now
        ids[found + position] = np.int32(listed[position]) + first
    return found + count


@njit
def end_list(found: Any, total: Any, times: Any, ids: Any, num_spikes: Any, b: Any) -> None:
    """Write padding behind the recorded spikes of a sample, and the number of all."""
    for position in range(found, ids.size):
        times[position], ids[position] = -1, total
    num_spikes[b] = min(found, np.int64(np.iinfo(np.int32).max))


def make_deliver(add: Any) -> Any:
    """Return the function that adds the rows of the spikes that arrive in a step to y."""

    @njit(_nrt=False)
    def deliver(
        matrix: Any, ages: Any, bits: Any, place: Any, now: Any, listed: Any, size: Any, y: Any
    ) -> None:
        each = np.int64(ages.size)
        for k in range(each):
            # In the order of a history of the projection's own, as operators read it.
            age = np.int64(ages[(k - now) % each])
            if age < 0:  # rows that are empty
                continue
            count = set_bits_into(bits[place - age], size, listed)
            for position in range(count if each > 1 else 0):
                listed[position] = listed[position] * np.uint32(each) + np.uint32(age)
            add(matrix, listed, listed[:count], each, y, 0, y.size)

    return deliver


deliver_dense, deliver_entries = make_deliver(add_dense), make_deliver(add_entries)


@njit(**INLINED)
def row_of(i: Any, age: Any, each: Any) -> Any:
    """Return the row of a neuron's synapses of one delay."""
    return np.uintp(i) if each == 1 else np.uintp(i * each + age)


@njit(fastmath=REORDER, **INLINED)
def add_dense_row(matrix: Any, row: Any, arrived: Any, d_weights: Any) -> None:
    """Add the cotangents of what arrived to those of the weights of a row."""
    for j in range(np.uintp(arrived.size)):
        d_weights[row, j] += arrived[j]


@njit(fastmath=REORDER, **INLINED)
def dense_dot(matrix: Any, row: Any, arrived: Any) -> Any:
    """Return the product of a row of weights and the cotangents of what arrived."""
    weights, total = matrix[0][row], arrived.dtype.type(0)
    for j in range(np.uintp(arrived.size)):
        total += weights[j] * arrived[j]
    return total


@njit(fastmath=REORDER, **INLINED)
def dense_dots(matrix: Any, row: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return the products of a row of weights with four vectors: it is loaded once for all."""
    weights, zero = matrix[0][row], a.dtype.type(0)
    of_a, of_b, of_c, of_d = zero, zero, zero, zero
    for j in range(np.uintp(a.size)):
        of_a += weights[j] * a[j]
        of_b += weights[j] * b[j]
        of_c += weights[j] * c[j]
        of_d += weights[j] * d[j]
    return of_a, of_b, of_c, of_d


@njit(**INLINED)
def add_entries_row(matrix: Any, row: Any, arrived: Any, d_weights: Any) -> None:
    """Add the cotangents of what arrived to those of the entries of a row."""
    indices, ends, columns = matrix[1], matrix[2], np.uintp(arrived.size)
    for k in range(np.uintp(ends[row]), np.uintp(ends[row + np.uintp(1)])):
        j = np.uintp(indices[k])
        if j < columns:
            d_weights[k] += arrived[j]


@njit(fastmath=REORDER, **INLINED)
def entries_dot(matrix: Any, row: Any, arrived: Any) -> Any:
    """Return the product of a row of entries and the cotangents of what arrived."""
    data, indices, ends = matrix
    total, columns = arrived.dtype.type(0), np.uintp(arrived.size)
    for k in range(np.uintp(ends[row]), np.uintp(ends[row + np.uintp(1)])):
        j = np.uintp(indices[k])
        if j < columns:
            total += data[k] * arrived[j]
    return total


@njit(**INLINED)
def entries_dots(matrix: Any, row: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return the products of a row of entries with four vectors."""
    return (
        entries_dot(matrix, row, a),
        entries_dot(matrix, row, b),
        entries_dot(matrix, row, c),
        entries_dot(matrix, row, d),
    )


def make_to_weights(add_row: Any) -> Any:
    """Return the function that adds to the cotangents of weights for the spikes of step s of a sample."""

    @njit(_nrt=False)
    def to_weights(
        matrix: Any,
        ages: Any,
        bits: Any,
        step: Any,
        ring: Any,
        steps: Any,
        listed: Any,
        size: Any,
        d_weights: Any,
    ) -> None:
        lead, each = bits.shape[0] - steps, np.int64(ages.size)
        count = set_bits_into(bits[lead + step], size, listed)
        for k in range(each if count else 0):
            age = np.int64(ages[k])
            if age >= 0 and 0 <= step + age < steps:
                arrived = ring[(step + age) % ring.shape[0]]
                for position in range(count):
                    add_row(matrix, row_of(listed[position], age, each), arrived, d_weights)

    return to_weights


def make_to_spikes(dot: Any, dots: Any) -> Any:
    """Return the function that adds what arrived to the cotangents of the spikes of step s of a block."""

    @njit(_nrt=False)
    def to_spikes(
        matrix: Any, ages: Any, step: Any, ring: Any, steps: Any, reached: Any, chosen: Any, d_spikes: Any
    ) -> None:
        each, block = np.int64(ages.size), d_spikes.shape[0]
        for k in range(each):
            age = np.int64(ages[k])
            if age < 0 or step + age >= steps:
                continue
            turn = (step + age) % ring.shape[1]
            # All samples of a neuron, whose row stays in the nearest cache.
            for i in range(d_spikes.shape[1]):
                row, count, place = row_of(i, age, each), 0, 0
                for b in range(block):
                    chosen[count] = b
                    count += reached[b, i]
                while place + 4 <= count:
                    a, b, c, d = chosen[place], chosen[place + 1], chosen[place + 2], chosen[place + 3]
                    of_a, of_b, of_c, of_d = dots(
                        matrix, row, ring[a, turn], ring[b, turn], ring[c, turn], ring[d, turn]
                    )
                    d_spikes[a, i] += of_a
                    d_spikes[b, i] += of_b
                    d_spikes[c, i] += of_c
                    d_spikes[d, i] += of_d
                    place += 4
                for rest in range(place, count):
                    d_spikes[chosen[rest], i] += dot(matrix, row, ring[chosen[rest], turn])

    return to_spikes


dense_to_weights, entries_to_weights = make_to_weights(add_dense_row), make_to_weights(add_entries_row)
dense_to_spikes = make_to_spikes(dense_dot, dense_dots)
entries_to_spikes = make_to_spikes(entries_dot, entries_dots)


@njit(**INLINED)
def add_to(total: Any, x: Any) -> None:
    """Add an array to another, or to its sum where there is one number for all."""
    if total.size == x.size:
        for j in range(np.uintp(x.size)):
            total[j] += x[j]
    else:
        for j in range(np.uintp(x.size)):
            total[0] += x[j]


@njit(**INLINED)
def add_at(total: Any, places: Any, x: Any) -> None:
    """Add numbers to chosen places."""
    for k in range(np.uintp(places.size)):
        total[places[k]] += x[k]
