"""A sample backwards: derivatives of a loss in V and I, which jump at the spikes of their neuron.

Between events they follow the transpose of the closed forms. At a spike at t, dt = -dV / V'(t-): the loss
depends on t by itself, by the arrivals of the spike, and since V leaves V_reset later. A weight of an arrival
at a neuron has the derivative lambda_I there, its time w * d(lambda_I)/dt. No state of a step is kept.
"""

from typing import Any, NamedTuple

import numpy as np

from event_ops.eventprop.arrivals import (
    Arrivals,
    Sample,
    collect,
    enlist_inputs,
    enlist_outputs,
    new_arrivals,
    new_chains,
)
from event_ops.eventprop.dynamics import Neuron, factors, moved_back, slope
from event_ops.eventprop.forward import Record
from event_ops.kernels.numba_cpu.jit import REORDER, njit


class Gradients(NamedTuple):
    """Hold derivatives of the loss: in weights and delays, to which samples add, and in times of arrival."""

    weights: Any
    delays: Any
    arrivals: Any


class Spiking(NamedTuple):
    """Hold the neurons that spike in a step, as they are at a position in it.

    `arrival` is the last one before the position; `place` says where a neuron is in the list, or -1.
    """

    ids: Any
    V: Any
    I: Any
    position: Any
    arrival: Any
    place: Any


@njit
def new_spiking(neurons: int) -> Spiking:
    """Return an empty list."""
    return Spiking(
        np.empty(neurons, np.int32), np.empty(neurons), np.empty(neurons), np.empty(neurons),
        np.empty(neurons, np.int32), np.full(neurons, -1, np.int32),
    )  # fmt: skip


@njit
def back_to(
    end: float,
    spiking: Spiking,
    c: int,
    arrivals: Arrivals,
    weights: Any,
    neuron: Neuron,
    gradients: Gradients,
) -> None:
    """Move a listed neuron back to `end`, past the arrivals behind it."""
    V, I, position, q, j = spiking.V[c], spiking.I[c], spiking.position[c], spiking.arrival[c], spiking.ids[c]
    while q >= 0 and arrivals.offsets[q] >= end:
        V, I = moved_back(V, I, position - arrivals.offsets[q], neuron)
        position, row = arrivals.offsets[q], arrivals.rows[q]
        gradients.weights[row, j] += I
        gradients.arrivals[arrivals.spikes[q]] += weights[row, j] * (I / neuron.tau_syn - V / neuron.tau_m)
        q -= 1
    V, I = moved_back(V, I, position - end, neuron)
    spiking.V[c], spiking.I[c], spiking.position[c], spiking.arrival[c] = V, I, end, q


@njit
def spikes_backwards(
    record: Record, k: int, inputs: int, cotangents: Any, spiking: Spiking, lambda_V: Any, lambda_I: Any,
    arrivals: Arrivals, count: int, weights: Any, neuron: Neuron, gradients: Gradients,
) -> int:  # fmt: skip
    """Move the neurons that spike in step k to its beginning; return how many, and leave 0 in their places."""
    size = 0
    for p in range(record.ends[k + 1] - 1, record.ends[k] - 1, -1):
        j = record.ids[p]
        c = spiking.place[j]
        if c < 0:
            c = spiking.place[j] = size
            spiking.ids[c], spiking.V[c], spiking.I[c] = j, lambda_V[j], lambda_I[j]
            spiking.position[c], spiking.arrival[c] = neuron.dt, count - 1
            lambda_V[j] = lambda_I[j] = 0
            size += 1
        time = min(max(float(record.times[p]) - k * neuron.dt, 0.0), neuron.dt)
        back_to(time, spiking, c, arrivals, weights, neuron, gradients)
        current = float(record.currents[p])
        of_time = float(cotangents[p]) + gradients.arrivals[inputs + p]
        of_time -= slope(neuron.V_reset, current, neuron) * spiking.V[c]
        spiking.V[c] = -of_time / slope(neuron.V_th, current, neuron)
    for c in range(size):
        back_to(0.0, spiking, c, arrivals, weights, neuron, gradients)
        spiking.place[spiking.ids[c]] = -1
    return size


@njit(fastmath=REORDER)
def arrivals_backwards(
    weights: Any, arrivals: Arrivals, count: int, lambda_V: Any, lambda_I: Any, neuron: Neuron,
    gradients: Gradients,
) -> None:  # fmt: skip
    """Add the derivatives in weights and times of the arrivals at the neurons that do not spike."""
    real = weights.dtype.type
    for q in range(count):
        of_V, of_I, gain = factors(neuron.dt - arrivals.offsets[q], neuron)
        from_V, from_I = real(gain), real(of_I)
        by_V, by_I = real(gain / neuron.tau_syn - of_V / neuron.tau_m), real(of_I / neuron.tau_syn)
        row, gradient, total = weights[arrivals.rows[q]], gradients.weights[arrivals.rows[q]], real(0)
        for j in range(row.size):
            gradient[j] += from_V * lambda_V[j] + from_I * lambda_I[j]
            total += row[j] * (by_V * lambda_V[j] + by_I * lambda_I[j])
        spike = arrivals.spikes[q]
        gradients.arrivals[spike] += total
        gradients.delays[arrivals.rows[q]] += gradients.arrivals[spike]


@njit
def differentiate(
    weights: Any, delays: Any, sample: Sample, record: Record, cotangents: Any, lambda_V: Any, lambda_I: Any,
    neuron: Neuron, gradients: Gradients,
) -> None:  # fmt: skip
    """Go back through one sample; lambda_V and lambda_I become the derivatives in the first V and I.

    `cotangents`: of the times of spikes; the trace of the record holds those of V at the ends of steps.
    """
    steps, dt, inputs = record.ends.size - 1, neuron.dt, sample.times.size
    chains = new_chains(steps, inputs + record.times.size)
    arrivals, spiking = new_arrivals(chains.following.size), new_spiking(lambda_V.size)
    real = lambda_V.dtype.type
    all_V, all_I, all_gain = factors(dt, neuron)
    of_V, of_I, gain = real(all_V), real(all_I), real(all_gain)
    enlist_inputs(chains, sample, delays, dt)
    for k in range(steps):
        enlist_outputs(chains, sample, record.ends[k], record.ends[k + 1], delays, k + 1, dt)
    lambda_V[:] = 0
    lambda_I[:] = 0
    gradients.arrivals[:] = 0
    for k in range(steps - 1, -1, -1):
        if record.trace.shape[0]:
            lambda_V += record.trace[k]
        count = collect(chains, sample, k, delays, dt, arrivals)
        size = spikes_backwards(
            record, k, inputs, cotangents, spiking, lambda_V, lambda_I, arrivals, count, weights, neuron,
            gradients,
        )  # fmt: skip
        arrivals_backwards(weights, arrivals, count, lambda_V, lambda_I, neuron, gradients)
        for j in range(lambda_V.size):
            lambda_I[j] = of_I * lambda_I[j] + gain * lambda_V[j]
            lambda_V[j] = of_V * lambda_V[j]
        for c in range(size):
            lambda_V[spiking.ids[c]], lambda_I[spiking.ids[c]] = spiking.V[c], spiking.I[c]
