"""Dense synapses with one delay for each row: their arrivals step by step, forwards and backwards.

A spike arrives at all neurons at once, so that an arrival is a row of weights times numbers.
"""

from typing import Any, NamedTuple

import numpy as np

from event_ops.eventprop.adjoint import Gradients, make_differentiate, spike_backwards, time_left
from event_ops.eventprop.arrivals import Chains, Sample, source
from event_ops.eventprop.dynamics import Neuron, factors
from event_ops.eventprop.forward import Near, Record, Step, make_simulate, spike_exactly
from event_ops.kernels.numba_cpu.jit import CONTRACT, REORDER, njit


class Rows(NamedTuple):
    """Hold the weights, and the delay of each row, which is its first."""

    weights: Any
    first: Any


class Arrivals(NamedTuple):
    """Hold the arrivals of one step by their time: spike, presynaptic row, and time since it began.

    With the `factors` of the time that is left of the step, and of that since the arrival before; behind the
    last one, up to the end.
    """

    spikes: Any
    rows: Any
    offsets: Any
    left: Any
    gaps: Any


@njit
def new_arrivals(spikes: int) -> Arrivals:
    """Return room for the arrivals of a step, at most all spikes."""
    ids = np.empty((2, spikes), np.int32)
    return Arrivals(ids[0], ids[1], np.empty(spikes), np.empty((spikes, 3)), np.empty((spikes + 1, 3)))


@njit(_nrt=False)
def collect(chains: Chains, sample: Sample, step: int, delays: Any, neuron: Neuron, found: Arrivals) -> int:
    """Fill in the arrivals of a step, sorted by time, and return how many there are."""
    count, begin, dt = 0, step * neuron.dt, neuron.dt
    spike = chains.first[step]
    while spike >= 0:
        row, time = source(sample, spike)
        arrival, now, spike = time + float(delays[row]), spike, chains.following[spike]
        if arrival < 0:
            continue
        offset = min(max(arrival - begin, 0.0), dt)
        place = count
        while place > 0 and found.offsets[place - 1] > offset:
            found.spikes[place], found.rows[place] = found.spikes[place - 1], found.rows[place - 1]
            found.offsets[place] = found.offsets[place - 1]
            place -= 1
        found.spikes[place], found.rows[place], found.offsets[place] = now, row, offset
        count += 1
    _fill_factors(found, count, neuron)
    return count


@njit(_nrt=False)
def _fill_factors(found: Arrivals, count: int, neuron: Neuron) -> None:
    """Fill in the factors of all times, from factors since the beginning of the step."""
    whole_V, whole_I, whole_gain = factors(neuron.dt, neuron)
    before_V, before_I, before_gain = 1.0, 1.0, 0.0
    for q in range(count + 1):
        of_V, of_I, gain = factors(found.offsets[q], neuron) if q < count else (whole_V, whole_I, whole_gain)
        gap = of_V / before_V
        found.gaps[q, 0], found.gaps[q, 1] = gap, of_I / before_I
        found.gaps[q, 2] = (gain - gap * before_gain) / before_I
        if q < count:
            left = whole_V / of_V
            found.left[q, 0], found.left[q, 1] = left, whole_I / of_I
            found.left[q, 2] = (whole_gain - left * gain) / of_I
        before_V, before_I, before_gain = of_V, of_I, gain


@njit(_nrt=False, fastmath=CONTRACT)
def deliver(weights: Any, arrivals: Arrivals, count: int, neuron: Neuron, step: Step) -> None:
    """Add up the arrivals of a step: each is a row of weights times three numbers."""
    to_V, to_I, fall, real = step.to_V, step.to_I, step.fall, weights.dtype.type
    zero = real(0)
    to_V[:] = zero
    to_I[:] = zero
    fall[:] = zero
    for q in range(count):
        _, of_I, gain = arrivals.left[q]
        fraction = (neuron.dt - arrivals.offsets[q]) / neuron.tau_m
        c_V, c_I, c_fall = real(gain), real(of_I), real(fraction)
        row = weights[arrivals.rows[q]]
        for j in range(row.size):
            w = row[j]
            to_V[j] += c_V * w
            to_I[j] += c_I * w
            fall[j] -= c_fall * min(w, zero)


@njit(_nrt=False, fastmath=CONTRACT)
def move_all(near: Near, size: int, gap: Any, length: float, neuron: Neuron) -> int:
    """Move neurons to the next arrival; return how many may have passed V_th, where `over` > 0."""
    hits, of_V, of_I, gain = 0, gap[0], gap[1], gap[2]
    V_th, rest = neuron.V_th, neuron.E_L
    for c in range(size):
        V, I = near.V[c], near.I[c]
        V_end, I_end = rest + (V - rest) * of_V + gain * I, of_I * I
        near.V_end[c], near.I_end[c] = V_end, I_end
        rise = rest - V + I
        # Above at the end, or with a maximum in between, and a tangent that passes the threshold.
        peak = min(V + rise * (length / neuron.tau_m) - V_th, min(rise, V_end - rest - I_end))
        near.over[c] = max(V_end - V_th, peak)
        hits += near.over[c] > 0
    return hits


@njit(_nrt=False)
def walk(
    near: Near, size: int, arrived: Any, rows: Rows, begin: float, neuron: Neuron, record: Record, spikes: int
) -> int:
    """Move listed neurons through a step, from arrival to arrival; return the number of spikes so far."""
    (arrivals, count), before = arrived, 0.0
    for q in range(count + 1):
        end = arrivals.offsets[q] if q < count else neuron.dt
        if move_all(near, size, arrivals.gaps[q], end - before, neuron):
            for c in range(size):
                if near.over[c] > 0:
                    spikes = spike_exactly(near, c, begin + before, end - before, neuron, record, spikes)
        before = end
        if q < count:
            row = rows.weights[arrivals.rows[q]]
            for c in range(size):
                near.V[c], near.I[c] = near.V_end[c], near.I_end[c] + row[near.ids[c]]
    return spikes


@njit
def begin(rows: Rows, spikes: int) -> Arrivals:
    """Return room for the arrivals of a step."""
    return new_arrivals(spikes)


@njit
def arrive(
    rows: Rows, arrivals: Arrivals, chains: Chains, sample: Sample, k: int, neuron: Neuron, step: Step
) -> tuple[Arrivals, int]:
    """Add up the arrivals of step k, and return them."""
    count = collect(chains, sample, k, rows.first, neuron, arrivals)
    deliver(rows.weights, arrivals, count, neuron, step)
    return arrivals, count


@njit(_nrt=False, fastmath=REORDER)
def arrival_backwards(
    weights: Any,
    arrivals: Arrivals,
    q: int,
    lambda_V: Any,
    lambda_I: Any,
    neuron: Neuron,
    gradients: Gradients,
) -> None:
    """Add the derivatives in weights and time of an arrival."""
    real, row = weights.dtype.type, arrivals.rows[q]
    of_V, of_I, gain = arrivals.left[q]
    from_V, from_I = real(gain), real(of_I)
    by_V, by_I = real(gain / neuron.tau_syn - of_V / neuron.tau_m), real(of_I / neuron.tau_syn)
    values, gradient, total = weights[row], gradients.weights[row], real(0)
    for j in range(values.size):
        gradient[j] += from_V * lambda_V[j] + from_I * lambda_I[j]
        total += values[j] * (by_V * lambda_V[j] + by_I * lambda_I[j])
    gradients.arrivals[arrivals.spikes[q]] = total
    gradients.delays[row] += total


@njit
def begin_backwards(rows: Rows, chains: Chains, sample: Sample, neuron: Neuron) -> Arrivals:
    """Return room for the arrivals of a step."""
    return new_arrivals(chains.following.size)


@njit(_nrt=False)
def back(
    rows: Rows, arrivals: Arrivals, chains: Chains, sample: Sample, k: int, record: Record, cotangents: Any,
    lambda_V: Any, lambda_I: Any, neuron: Neuron, gradients: Gradients,
) -> None:  # fmt: skip
    """Go back through arrivals and spikes of step k by time."""
    q, p = collect(chains, sample, k, rows.first, neuron, arrivals) - 1, record.ends[k + 1] - 1
    while q >= 0 or p >= record.ends[k]:
        left = time_left(record, p, k, neuron) if p >= record.ends[k] else 2 * neuron.dt
        if q >= 0 and arrivals.offsets[q] >= neuron.dt - left:
            arrival_backwards(rows.weights, arrivals, q, lambda_V, lambda_I, neuron, gradients)
            q -= 1
        else:
            of_time = float(cotangents[p]) + gradients.arrivals[sample.times.size + p]
            spike_backwards(record, p, left, of_time, neuron, lambda_V, lambda_I)
            p -= 1


simulate = make_simulate(begin, arrive, walk)
differentiate = make_differentiate(begin_backwards, back)
