"""Spikes in lists by the step in which they arrive: a spike comes into one when it is known.

Spike m is input m, or behind the inputs neuron spike m - inputs. A list is a chain: the first of each step,
then for each spike the next one.
"""

from typing import Any, NamedTuple

import numpy as np

from event_ops.kernels.numba_cpu.jit import INLINED, njit


class Sample(NamedTuple):
    """Hold the spikes of one sample: of inputs, and of neurons, whose rows follow the input rows.

    `levels`: V_th and V_reset of all neurons, counted from E_L.
    """

    times: Any
    ids: Any
    out_times: Any
    out_ids: Any
    input_rows: Any
    levels: Any


class Chains(NamedTuple):
    """Hold for each step its first spike, and for each spike the next of the same step; -1: none."""

    first: Any
    following: Any


@njit
def new_chains(steps: int, spikes: int) -> Chains:
    """Return lists of no spikes."""
    return Chains(np.full(steps, -1, np.int32), np.empty(spikes, np.int32))


@njit(_nrt=False)
def source(sample: Sample, spike: int) -> tuple[Any, float]:
    """Return row and time of a spike."""
    if spike < sample.times.size:
        return np.int64(sample.ids[spike]), float(sample.times[spike])
    place = spike - sample.times.size
    return np.int64(sample.input_rows) + sample.out_ids[place], float(sample.out_times[place])


@njit(**INLINED)
def enlist(chains: Chains, sample: Sample, spike: int, delays: Any, earliest: int, dt: float) -> None:
    """Put a spike into the list of the step of its first arrival, which is not before `earliest`.

    One that arrives before 0 is in the first list, since it may arrive elsewhere later.
    """
    row, time = source(sample, spike)
    arrival = time + float(delays[row])
    if arrival < chains.first.size * dt:
        # Rounding may put an arrival one dt after its spike into the step of the spike.
        step = max(int(max(arrival, 0.0) / dt), earliest)
        if step < chains.first.size:
            chains.following[spike] = chains.first[step]
            chains.first[step] = spike


@njit(_nrt=False)
def enlist_inputs(chains: Chains, sample: Sample, delays: Any, dt: float) -> bool:
    """Put all inputs into lists, and return whether no time is NaN; an id out of range is padding."""
    # From the last on, since a chain gives back first what came last, and is then nearly sorted.
    for spike in range(sample.times.size - 1, -1, -1):
        if 0 <= sample.ids[spike] < sample.input_rows:
            if np.isnan(sample.times[spike]):
                return False
            enlist(chains, sample, spike, delays, np.int64(0), dt)
    return True


@njit(_nrt=False)
def enlist_outputs(
    chains: Chains, sample: Sample, begin: int, end: int, delays: Any, earliest: int, dt: float
) -> None:
    """Put the neuron spikes from `begin` to `end`, of the step before `earliest`, into lists."""
    if delays.size > sample.input_rows:
        for place in range(end - 1, begin - 1, -1):
            enlist(chains, sample, sample.times.size + place, delays, earliest, dt)
