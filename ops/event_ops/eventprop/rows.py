"""Dense synapses with one delay for each row, and their arrivals step by step.

A spike arrives at all neurons at once, so that an arrival is a row of weights times numbers.
"""

from typing import Any, NamedTuple

import numpy as np

from event_ops.eventprop.arrivals import Chains, Sample, source
from event_ops.eventprop.dynamics import Neuron, factors_of
from event_ops.kernels.numba_cpu.jit import INLINED, njit


class Rows(NamedTuple):
    """Hold the weights, and the delay of each row, which is its first."""

    weights: Any
    first: Any


class Arrivals(NamedTuple):
    """Hold the arrivals of one step by their time: spike, presynaptic row, and time since the step began.

    Those of instant m are from `starts[m]` to `starts[m + 1]`. Instants, and the end of the step behind them,
    have `times`, and `factors` since the step began, of what is left of it, and since the instant before.
    `shares`: what an arrival adds to V and I at the end of the step for each unit of weight, and the part of
    tau_m that is left.
    """

    spikes: Any
    rows: Any
    offsets: Any
    starts: Any
    times: Any
    since: Any
    left: Any
    gaps: Any
    shares: Any


@njit
def new_arrivals(spikes: int, weights: Any) -> Arrivals:
    """Return room for the arrivals of a step, at most all spikes."""
    # Rows are visited in fours, the last of which are filled up.
    ids = np.empty((3, spikes + 3), np.int32)
    times = np.empty((2, spikes + 1))
    x = np.empty((3, 3, spikes + 1))
    shares = np.empty((spikes + 3, 3), weights.dtype)
    return Arrivals(ids[0], ids[1], times[0], ids[2], times[1], x[0], x[1], x[2], shares)


@njit(**INLINED)
def collect(chains: Chains, sample: Sample, step: int, delays: Any, dt: float, found: Arrivals) -> Any:
    """Fill in the arrivals of a step, sorted by time, and return how many there are."""
    count, begin = np.int64(0), step * dt
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
    return count


@njit(**INLINED)
def instants_of(found: Arrivals, count: int, neuron: Neuron) -> Any:
    """Fill in the instants of the arrivals of a step, and their factors; return how many there are."""
    instants = np.int64(0)
    for r in range(count):
        if r == 0 or found.offsets[r] != found.offsets[r - 1]:
            found.starts[instants] = r
            instants += 1
    found.starts[instants] = count
    _fill_factors(found, instants, neuron)
    return instants


@njit(**INLINED, error_model="numpy")
def _fill_factors(found: Arrivals, count: int, neuron: Neuron) -> None:
    """Fill in the factors of all instants, from factors since the beginning of the step."""
    times, since, left, gaps = found.times, found.since, found.left, found.gaps
    for q in range(count):
        times[q] = found.offsets[found.starts[q]]
    times[count] = neuron.dt
    factors_of(times[: count + 1], neuron, since)
    whole_V, whole_I, whole_gain = since[0, count], since[1, count], since[2, count]
    gaps[0, 0], gaps[1, 0], gaps[2, 0] = since[0, 0], since[1, 0], since[2, 0]
    for q in range(count):
        undo_V, undo_I, gain = 1 / since[0, q], 1 / since[1, q], since[2, q]
        left[0, q], left[1, q] = whole_V * undo_V, whole_I * undo_I
        left[2, q] = (whole_gain - whole_V * undo_V * gain) * undo_I
        gap = since[0, q + 1] * undo_V
        gaps[0, q + 1], gaps[1, q + 1] = gap, since[1, q + 1] * undo_I
        gaps[2, q + 1] = (since[2, q + 1] - gap * gain) * undo_I
