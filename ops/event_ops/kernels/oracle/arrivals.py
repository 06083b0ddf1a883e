"""Arrivals through synapses, entry by entry."""

import numpy as np

from event_ops.kernels.oracle import csr_entries, flat_events, weights_of, wide, word_entries


def csr_event_deliver(buffer, data, indices, indptr, delays, spikes, slot, *, shape):
    weights, steps = weights_of(data, indices), np.broadcast_to(delays, np.shape(indices))
    y = wide(buffer).copy()
    slots = len(y)
    for i, j, k in csr_entries(indices, indptr, shape):
        if spikes[i] and 0 <= steps[k] < slots:
            y[(int(slot) + int(steps[k])) % slots, j] += weights[k] * float(spikes[i])
    return y


def csr_event_arrivals(history, data, indices, indptr, slot, *, shape, encoding="flags", initial=0):
    weights = weights_of(data, indices)
    rows, slots = shape[0], len(history)
    events = [flat_events(each, encoding, rows) for each in history]
    y = np.zeros(shape[1], weights.dtype) + wide(initial)
    for row, j, k in csr_entries(indices, indptr, (rows * slots, shape[1])):
        i, delay = divmod(row, slots)
        event = events[(int(slot) - delay) % slots][i]
        if event:
            y[j] += weights[k] * float(event)
    return y


def compact_event_arrivals(
    history, entries, indptr, scale, slot, *, shape, starts=None, encoding="flags", initial=0
):
    (rows, columns), slots = shape, len(history)
    parts = np.reshape(indptr, (-1, rows * slots + 1))
    width = -(-columns // len(parts))
    starts = [part * width for part in range(len(parts) + 1)] if starts is None else starts
    events = [flat_events(each, encoding, rows) for each in history]
    y = np.zeros(columns) + wide(initial)
    for part, ends in enumerate(parts):
        scales = np.repeat(np.broadcast_to(scale, rows), slots)
        for row, j, weight in word_entries(entries, ends, scales, (rows * slots, columns)):
            i, delay = divmod(row, slots)
            event, target = events[(int(slot) - delay) % slots][i], int(starts[part]) + j
            if event and target < min(columns, int(starts[part + 1])):
                y[target] += weight * float(event)
    return y


def read_slot(buffer, slot):
    rest = wide(buffer).copy()
    now = int(slot) % len(rest)
    arrivals = rest[now].copy()
    rest[now] = 0
    return arrivals, rest


def expsyn_step(g, data, indices, indptr, spikes, *, shape, tau, dt):
    weights, arrivals = weights_of(data, indices), np.zeros(shape[1])
    for i, j, k in csr_entries(indices, indptr, shape):
        if spikes[i]:
            arrivals[j] += weights[k] * float(spikes[i])
    return wide(g) * np.exp(-dt / wide(tau)) + arrivals.reshape(np.shape(g))
