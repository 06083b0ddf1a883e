"""Dense synapses with one delay for each row, and their arrivals step by step.

A spike arrives at all neurons at once, so that an arrival is a row of weights times numbers.
"""

from typing import Any, NamedTuple

import numpy as np

from event_ops.eventprop.arrivals import Chains, Sample, source
from event_ops.eventprop.dynamics import Neuron, factors
from event_ops.kernels.numba_cpu.jit import njit


class Rows(NamedTuple):
    """Hold the weights, and the delay of each row, which is its first."""

    weights: Any
    first: Any


class Arrivals(NamedTuple):
    """Hold the arrivals of one step by their time: spike, presynaptic row, and time since the step began.

    Those of instant m are from `starts[m]` to `starts[m + 1]`. Instants have the `factors` of the time that
    is left of the step, and of that since the instant before; behind the last one, up to the end.
    `shares`: what an arrival adds to V and I at the end of the step for each unit of weight, and the part of
    tau_m that is left.
    """

    spikes: Any
    rows: Any
    offsets: Any
    starts: Any
    left: Any
    gaps: Any
    shares: Any


@njit
def new_arrivals(spikes: int, weights: Any) -> Arrivals:
    """Return room for the arrivals of a step, at most all spikes."""
    # Rows are visited in fours, the last of which are filled up.
    ids, factors_of = np.empty((3, spikes + 3), np.int32), np.empty((2, spikes + 1, 3))
    shares = np.empty((spikes + 3, 3), weights.dtype)
    return Arrivals(ids[0], ids[1], np.empty(spikes), ids[2], factors_of[0], factors_of[1], shares)


@njit(_nrt=False)
def collect(chains: Chains, sample: Sample, step: int, delays: Any, neuron: Neuron, found: Arrivals) -> int:
    """Fill in the arrivals of a step, sorted by time, and return how many instants they have."""
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
    instants = 0
    for r in range(count):
        if r == 0 or found.offsets[r] != found.offsets[r - 1]:
            found.starts[instants] = r
            instants += 1
    found.starts[instants] = count
    _fill_factors(found, instants, neuron)
    return instants


@njit(_nrt=False)
def _fill_factors(found: Arrivals, count: int, neuron: Neuron) -> None:
    """Fill in the factors of all instants, from factors since the beginning of the step."""
    whole_V, whole_I, whole_gain = factors(neuron.dt, neuron)
    undo_V, undo_I, before = 1.0, 1.0, 0.0
    for q in range(count + 1):
        of_V, of_I, gain = factors(found.offsets[found.starts[q]] if q < count else neuron.dt, neuron)
        gap = of_V * undo_V
        found.gaps[q, 0], found.gaps[q, 1] = gap, of_I * undo_I
        found.gaps[q, 2] = (gain - gap * before) * undo_I
        undo_V, undo_I, before = 1 / of_V, 1 / of_I, gain
        left = whole_V * undo_V
        found.left[q, 0], found.left[q, 1] = left, whole_I * undo_I
        found.left[q, 2] = (whole_gain - left * gain) * undo_I
