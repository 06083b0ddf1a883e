"""Loops of a run backwards: the transposes of what arrived, for a block of samples.

Cotangents of what arrives wait in rings, of which step s has row s % rows.
"""

from typing import Any, Final

import numpy as np

from event_ops.kernels.numba_cpu.access import row_span
from event_ops.kernels.numba_cpu.jit import INLINED, REORDER, njit
from event_ops.kernels.numba_cpu.packed_events import set_bits_into

_SAMPLE: Final = 32  # the first bit of a sample beside its row
_ROW: Final = (1 << _SAMPLE) - 1


@njit
def by_neuron(bits: Any, low: Any, block: Any, first: Any, span: Any, listed: Any, size: Any) -> Any:
    """Return the spikes of `span` rows of a block by neuron: where each begins, sample and row; and room."""
    starts = np.zeros(size + 2, np.int64)
    for c in range(block):
        for t in range(span):
            for position in range(set_bits_into(bits[low + c, first + t], size, listed)):
                starts[listed[position] + 2] += 1
    for i in range(size):
        starts[i + 2] += starts[i + 1]
    places = np.empty(starts[size + 1], np.int64)
    for c in range(block):
        for t in range(span):
            for position in range(set_bits_into(bits[low + c, first + t], size, listed)):
                i = listed[position] + 1
                places[starts[i]] = c << _SAMPLE | t
                starts[i] += 1
    return starts, places, np.empty_like(places)


@njit(**INLINED)
def row_of(i: Any, age: Any, each: Any) -> Any:
    """Return the row of a neuron's synapses of one delay."""
    return np.uintp(i) if each == 1 else np.uintp(i * each + age)


@njit(fastmath=REORDER, **INLINED)
def add_dense_row(matrix: Any, row: Any, a: Any, d_weights: Any) -> None:
    """Add the cotangents of what arrived to those of the weights of a row."""
    of_row = d_weights[row]
    for j in range(np.uintp(a.size)):
        of_row[j] += a[j]


@njit(fastmath=REORDER, **INLINED)
def add_dense_rows(matrix: Any, row: Any, a: Any, b: Any, c: Any, d: Any, d_weights: Any) -> None:
    """Add four such cotangents to those of the weights of a row, which are loaded once for all."""
    of_row = d_weights[row]
    for j in range(np.uintp(a.size)):
        of_row[j] += (a[j] + b[j]) + (c[j] + d[j])


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
def add_entries_row(matrix: Any, row: Any, a: Any, d_weights: Any) -> None:
    """Add the cotangents of what arrived to those of the entries of a row."""
    indices, ends, columns = matrix[1], matrix[2], np.uintp(a.size)
    for k in range(*row_span(ends, row, np.uintp(indices.size))):
        j = np.uintp(indices[k])
        if j < columns:
            d_weights[k] += a[j]


@njit(**INLINED)
def add_entries_rows(matrix: Any, row: Any, a: Any, b: Any, c: Any, d: Any, d_weights: Any) -> None:
    """Add four such cotangents to those of the entries of a row, which are read once for all."""
    indices, ends, columns = matrix[1], matrix[2], np.uintp(a.size)
    for k in range(*row_span(ends, row, np.uintp(indices.size))):
        j = np.uintp(indices[k])
        if j < columns:
            d_weights[k] += (a[j] + b[j]) + (c[j] + d[j])


@njit(fastmath=REORDER, **INLINED)
def entries_dot(matrix: Any, row: Any, arrived: Any) -> Any:
    """Return the product of a row of entries and the cotangents of what arrived."""
    data, indices, ends = matrix
    total, columns = arrived.dtype.type(0), np.uintp(arrived.size)
    for k in range(*row_span(ends, row, np.uintp(indices.size))):
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


def make_to_weights(add_row: Any, add_rows: Any) -> Any:
    """Return the function that adds to the cotangents of weights for the spikes of some steps of a block.

    starts, places, chosen: of `by_neuron`, from step `first` on; ring: rows of all samples, of which each has
    `turns`; base: the array that cotangents are added to, or that of the first sample where each has its own.
    """

    @njit(_nrt=False)
    def to_weights(
        matrix: Any,
        ages: Any,
        starts: Any,
        places: Any,
        chosen: Any,
        first: Any,
        ring: Any,
        turns: Any,
        steps: Any,
        d_weights: Any,
        base: Any,
        own: Any,
    ) -> None:
        each = np.int64(ages.size)
        for i in range(starts.size - 2):
            for k in range(each if starts[i + 1] > starts[i] else 0):
                age = np.int64(ages[k])
                row, begin, count, done = row_of(i, max(age, 0), each), (first + age) % turns, 0, 0
                for position in range(starts[i], starts[i + 1] if age >= 0 else starts[i]):
                    sample, later = places[position] >> _SAMPLE, places[position] & _ROW
                    if 0 <= first + later + age < steps:
                        turn = begin + later
                        while turn >= turns:
                            turn -= turns
                        chosen[count] = sample * turns + turn
                        count += 1
                while own == 0 and done + 4 <= count:
                    a, b, c, d = chosen[done], chosen[done + 1], chosen[done + 2], chosen[done + 3]
                    add_rows(matrix, row, ring[a], ring[b], ring[c], ring[d], d_weights[base])
                    done += 4
                for rest in range(done, count):
                    of_sample = base + own * (chosen[rest] // turns)
                    add_row(matrix, row, ring[chosen[rest]], d_weights[of_sample])

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


dense_to_weights = make_to_weights(add_dense_row, add_dense_rows)
entries_to_weights = make_to_weights(add_entries_row, add_entries_rows)
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
