"""A step of a sample whose dense rows have a delay each: forwards to exact times of spikes, and backwards."""

from typing import Any, NamedTuple

import numpy as np

from event_ops.eventprop.adjoint import Gradients, event_backwards, latest, make_differentiate
from event_ops.eventprop.arrivals import Chains, Sample
from event_ops.eventprop.crossings import ROOM, Crossings, current, new_crossings, note, search
from event_ops.eventprop.dynamics import Neuron, factors, factors_of
from event_ops.eventprop.forward import Held, Near, Record, Step, make_simulate, spike_exactly
from event_ops.eventprop.row_derivatives import instant_backwards
from event_ops.eventprop.row_sums import Sums, deliver, new_sums
from event_ops.eventprop.rows import Arrivals, Rows, collect, instants_of, new_arrivals
from event_ops.kernels.numba_cpu.jit import CONTRACT, INLINED, njit

# Whether a neuron has spiked in a step, in a search that is to come, or goes through the step alone.
_NONE, _ONCE, _ALONE = range(3)


class Kept(NamedTuple):
    """Hold the arrivals of a step and their sums, and crossings that are searched for."""

    arrivals: Arrivals
    sums: Sums
    crossings: Crossings


@njit(**INLINED, fastmath=CONTRACT)
def move_all(near: Near, size: int, of_V: float, of_I: float, gain: float, share: float) -> int:
    """Move V of neurons to the next instant; return how many may spike or are held, where `over` > 0.

    `share`: the time up to then in tau_m.
    """
    hits = 0
    for c in range(size):
        V, I, V_th = near.V[c], near.I[c], near.V_th[c]
        V_end = V * of_V + gain * I
        near.V_end[c] = V_end
        rise = I - V
        # Above at the end, or with a maximum in between, and a tangent that passes the threshold.
        peak = min(V + rise * share - V_th, min(rise, V_end - of_I * I))
        near.over[c] = max(max(V_end - V_th, peak), near.held_until[c])
        hits += near.over[c] > 0
    return hits


@njit(**INLINED)
def add_row(near: Near, size: int, row: Any) -> None:
    """Add a row to I of neurons."""
    for c in range(size):
        near.I[c] += row[near.ids[c]]


@njit(_nrt=False)
def walk_alone(
    near: Near, c: int, kept: Kept, count: int, rows: Rows, sample: Sample, held: Held, begin: float,
    neuron: Neuron, record: Record, spikes: int,
) -> int:  # fmt: skip
    """Move one listed neuron through a step from its beginning; return the number of spikes so far."""
    arrivals, before, j = kept.arrivals, 0.0, near.ids[c]
    near.V[c], near.I[c], near.V_th[c] = near.first_V[c], near.first_I[c], sample.levels[0, j]
    for q in range(count + 1):
        end, left_I = arrivals.times[q], arrivals.gaps[1, q] * near.I[c]
        near.V_end[c] = near.V[c] * arrivals.gaps[0, q] + arrivals.gaps[2, q] * near.I[c]
        spikes = spike_exactly(
            near, c, left_I, begin + before, end - before, sample, held, neuron, record, spikes
        )  # fmt: skip
        before = end
        if q < count:
            near.V[c], near.I[c] = near.V_end[c], left_I
            for r in range(arrivals.starts[q], arrivals.starts[q + 1]):
                near.I[c] += rows.weights[arrivals.rows[r], j]
    return spikes


@njit(**INLINED)
def is_once(near: Near, c: int, I_end: float, share: float, raised: float) -> bool:
    """Return whether V surely passes V_th before the next instant, and stays below a `raised` one."""
    V, V_end = near.V[c], near.V_end[c]
    rise = near.I[c] - V
    peak = min(V + rise * share - raised, min(rise, V_end - I_end))
    return V_end > near.V_th[c] and max(V_end - raised, peak) <= 0


@njit(_nrt=False)
def record_crossings(
    near: Near, found: int, kept: Kept, count: int, rows: Rows, sample: Sample, held: Held, begin: float,
    neuron: Neuron, record: Record, spikes: int,
) -> int:  # fmt: skip
    """Search for the crossings that were put down; return the number of spikes so far."""
    crossings = kept.crossings
    search(crossings, found, neuron)
    for k in range(found):
        c = np.int64(crossings.places[k])
        j = near.ids[c]
        if spikes > record.times.size:
            break
        if near.state[c] == _ALONE:
            spikes = walk_alone(
                near, c, kept, count, rows, sample, held, begin, neuron, record, spikes
            )  # fmt: skip
            continue
        if spikes < record.times.size:
            record.times[spikes], record.ids[spikes] = begin + crossings.begins[k], j
            record.currents[spikes] = record.releases[spikes] = current(crossings, k)
        held.spikes[j] = spikes
        spikes += 1
        # Since then V is lower by what is left of the jump.
        near.V_end[c] -= (sample.levels[0, j] - sample.levels[1, j]) * crossings.factors[0, k]
    return spikes


@njit(_nrt=False)
def walk(
    near: Near, size: int, arrived: Any, rows: Rows, sample: Sample, held: Held, begin: float,
    neuron: Neuron, record: Record, spikes: int,
) -> int:  # fmt: skip
    """Move listed neurons through a step, from instant to instant; return the number of spikes so far.

    Neurons that spike go on as if they did not, with a V_th that is higher by all that is left of the jump
    at the end of the step: below it they do not spike again, and all times are searched for at once. One
    that is not below goes through the step alone.
    """
    (kept, count), before, found = arrived, 0.0, np.int64(0)
    arrivals, sums = kept.arrivals, kept.sums
    for c in range(size):
        near.first_V[c], near.first_I[c], near.state[c] = near.V[c], near.I[c], _NONE
    for q in range(count + 1):
        end = arrivals.times[q]
        of_V, of_I, gain = arrivals.gaps[0, q], arrivals.gaps[1, q], arrivals.gaps[2, q]
        share = (end - before) * neuron.rate_m
        if move_all(near, size, of_V, of_I, gain, share):
            for c in range(size):
                if near.over[c] > 0:
                    left_I, j = of_I * near.I[c], near.ids[c]
                    jump = float(sample.levels[0, j]) - float(sample.levels[1, j])
                    raised = near.V_th[c] + jump * arrivals.since[0, count]
                    if near.state[c] == _ONCE:
                        near.state[c], near.V_th[c] = _ALONE, np.inf
                    elif (
                        near.state[c] == _NONE
                        and neuron.t_ref == 0
                        and found < ROOM
                        and is_once(near, c, left_I, share, raised)
                    ):
                        note(
                            kept.crossings, found, c, before, near.V[c], near.I[c], near.V_end[c], left_I,
                            end - before, near.V_th[c], neuron,
                        )  # fmt: skip
                        near.state[c], near.V_th[c] = _ONCE, raised
                        found += 1
                    else:
                        near.state[c] = _ALONE
                        spikes = spike_exactly(
                            near, c, left_I, begin + before, end - before, sample, held, neuron, record,
                            spikes,
                        )  # fmt: skip
        before = end
        if q < count:
            for c in range(size):
                near.V[c], near.I[c] = near.V_end[c], of_I * near.I[c]
            if sums.of[q] >= 0:
                add_row(near, size, sums.rows[sums.of[q]])
            else:
                for r in range(arrivals.starts[q], arrivals.starts[q + 1]):
                    add_row(near, size, rows.weights[arrivals.rows[r]])
    if found:
        spikes = record_crossings(
            near, found, kept, count, rows, sample, held, begin, neuron, record, spikes
        )  # fmt: skip
    return spikes


@njit
def begin(rows: Rows, spikes: int) -> Kept:
    """Return room for the arrivals of a step."""
    return Kept(new_arrivals(spikes, rows.weights), new_sums(spikes, rows.weights), new_crossings())


@njit
def arrive(
    rows: Rows, kept: Kept, chains: Chains, sample: Sample, k: int, neuron: Neuron, step: Step
) -> tuple[Kept, int]:
    """Add up the arrivals of step k, and return them, and how many instants they have."""
    count = collect(chains, sample, k, rows.first, neuron.dt, kept.arrivals)
    instants = instants_of(kept.arrivals, count, neuron)
    deliver(rows.weights, kept.arrivals, instants, neuron, kept.sums, step)
    return kept, instants


class Back(NamedTuple):
    """Hold the arrivals of a step, and the time and the factors from each spike to the end of the step."""

    arrivals: Arrivals
    left: Any
    factors: Any


@njit
def begin_backwards(rows: Rows, chains: Chains, sample: Sample, dt: float) -> Back:
    """Return room for the arrivals and spikes of a step."""
    spikes = sample.out_times.size
    return Back(new_arrivals(chains.following.size, rows.weights), np.empty(spikes), np.empty((3, spikes)))


@njit(_nrt=False)
def back(
    rows: Rows, kept: Back, chains: Chains, sample: Sample, k: int, record: Record, cotangents: Any,
    lambda_V: Any, lambda_I: Any, neuron: Neuron, gradients: Gradients,
) -> None:  # fmt: skip
    """Go back through instants and spikes of step k by time."""
    arrivals, begin, count = kept.arrivals, record.ends[k], record.ends[k + 1] - record.ends[k]
    q = instants_of(arrivals, collect(chains, sample, k, rows.first, neuron.dt, arrivals), neuron) - 1
    p = record.ends[k + 1] - 1
    for i in range(count):
        kept.left[i] = min(max((k + 1) * neuron.dt - float(record.times[begin + i]), 0.0), neuron.dt)
    factors_of(kept.left[:count], neuron, kept.factors)
    while True:
        time, is_release = latest(record, p, k, neuron, gradients)
        if q >= 0 and arrivals.times[q] >= time:
            instant_backwards(
                rows.weights, arrivals, sample.times.size, q, lambda_V, lambda_I, neuron, gradients
            )  # fmt: skip
            q -= 1
        elif time < 0:
            break
        else:
            i = p - begin
            if is_release:
                of = factors(neuron.dt - time, neuron)
            else:
                of = kept.factors[0, i], kept.factors[1, i], kept.factors[2, i]
            event_backwards(
                record, p, of, is_release, cotangents, sample, neuron, lambda_V, lambda_I, gradients
            )  # fmt: skip
            p -= not is_release


simulate = make_simulate(begin, arrive, walk)
differentiate = make_differentiate(begin_backwards, back)
