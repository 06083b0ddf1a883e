"""A sample forwards: steps in closed form, and exact times of the spikes in each."""

# V and I are potential and current, and no constants:
# pyright: reportConstantRedefinition=false
from typing import Any, NamedTuple

import numpy as np

from event_ops.eventprop.arrivals import Sample, enlist_inputs, enlist_outputs, new_chains
from event_ops.eventprop.dynamics import Neuron, factors, first_crossing, moved, neuron_of
from event_ops.kernels.numba_cpu.jit import INLINED, njit
from event_ops.kernels.numba_cpu.simd import (
    add_product,
    load,
    lowest_bit,
    negative_part,
    over_columns,
    positive,
    store,
    zeros,
)


class Step(NamedTuple):
    """Hold, per neuron, the arrivals of a step at its end; `fall` bounds how far inhibition lowers V."""

    to_V: Any
    to_I: Any
    fall: Any


class Near(NamedTuple):
    """Hold the neurons that may spike in a step, as they are at an arrival, V at the next one, and V_th.

    `held_until`: as of `Held`; `first_V`, `first_I`: V and I when the step began; `state`: whether a neuron
    has spiked in it, as `walk` of rows says.

    In double precision, whatever the arrays hold: times of spikes are roots.
    """

    ids: Any
    V: Any
    I: Any
    V_end: Any
    V_th: Any
    held_until: Any
    over: Any
    first_V: Any
    first_I: Any
    state: Any


class Held(NamedTuple):
    """Hold until when each neuron is refractory, and its last spike; -inf: it is not."""

    until: Any
    spikes: Any


class Record(NamedTuple):
    """Hold the results of a sample: spikes, and how many there were up to each step.

    With the currents of their neurons, and those when V is released, after the refractory time.
    """

    times: Any
    ids: Any
    currents: Any
    releases: Any
    ends: Any
    trace: Any


@over_columns
def _advance(width: int) -> Any:
    """Return the function that steps neurons from `begin` to `end`, `width` of them at once, as `advance`."""

    @njit(**INLINED)
    def part(
        begin: int, end: int, V: Any, I: Any, step: Step, V_th: Any, neuron: Neuron, excess: Any, next_V: Any,
        next_I: Any,
    ) -> None:  # fmt: skip
        real = V.dtype.type
        all_V, all_I, all_gain = factors(neuron.dt, neuron)
        of_V, of_I, gain = real(all_V), real(all_I), real(all_gain)
        one, whole, lower, twice = real(1), real(neuron.dt * neuron.rate_m), real(1e-5 - 1), real(-2e-5)
        for j in range(begin, end, width):
            V_j, I_j, level = load(V, j, width), load(I, j, width), load(V_th, j, width)
            left_I = add_product(zeros(V, width), of_I, I_j)
            moved_V = add_product(add_product(load(step.to_V, j, width), of_V, V_j), gain, I_j)
            store(next_V, j, moved_V)
            store(next_I, j, add_product(load(step.to_I, j, width), one, left_I))
            least_I = add_product(left_I, one, negative_part(add_product(I_j, -one, left_I)))
            # Minus the slope that V had at least.
            fall = negative_part(add_product(least_I, -one, level))
            found = add_product(add_product(moved_V, one, load(step.fall, j, width)), -whole, fall)
            # V_th a little lower, for the rounding of sums in V's precision.
            found = add_product(add_product(found, lower, level), twice, negative_part(level))
            store(excess, j, found)

    return part


@njit(_nrt=False)
def advance(
    V: Any, I: Any, step: Step, V_th: Any, neuron: Neuron, excess: Any, next_V: Any, next_I: Any
) -> None:
    """Step all neurons as if none spiked; where `excess` is > 0, V may have passed V_th on the way.

    Since V was V_th, its slope was at least that with what is left of I at the end, without excitation that
    arrives; inhibition w that arrives x before the end lowers V by at most x / tau_m * abs(w).
    """
    _advance(V.size, V, I, step, V_th, neuron, excess, next_V, next_I)


@njit(**INLINED)
def list_positive(excess: Any, ids: Any) -> int:
    """List the places where a number is > 0; return how many. There is room for one id more."""
    count, words = 0, excess.size - excess.size % 64
    for j in range(0, words, 64):
        bits = positive(load(excess, j, 64))
        while bits:
            ids[count] = j + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            count += 1
    for j in range(words, excess.size):
        # Not a branch, which would be mispredicted.
        ids[count] = j
        count += excess[j] > 0
    return count


@njit(**INLINED)
def near_threshold(excess: Any, V: Any, I: Any, V_th: Any, held: Held, near: Near) -> int:
    """List the neurons that may spike, with their states at the beginning of the step; return how many."""
    count = list_positive(excess, near.ids)
    for c in range(count):
        j = near.ids[c]
        near.V[c], near.I[c], near.V_th[c], near.held_until[c] = V[j], I[j], V_th[j], held.until[j]
    return count


@njit(_nrt=False)
def spike_exactly(
    near: Near, c: int, I_end: float, begin: float, length: float, sample: Sample, held: Held,
    neuron: Neuron, record: Record, spikes: int,
) -> int:  # fmt: skip
    """Find the spikes of one neuron between two arrivals; return the number of spikes so far."""
    V, I, V_end, j = near.V[c], near.I[c], near.V_end[c], near.ids[c]
    V_reset = float(sample.levels[1, j])
    while spikes <= record.times.size:
        if near.held_until[c] > 0:
            wait = max(near.held_until[c] - begin, 0.0)
            if wait > length:
                V_end = V_reset
                break
            V, I, begin, length = V_reset, factors(wait, neuron)[1] * I, begin + wait, length - wait
            record.releases[held.spikes[j]] = I
            near.held_until[c] = held.until[j] = -np.inf
            V_end, I_end = moved(V, I, length, neuron)
        x, at_spike = first_crossing(V, I, V_end, I_end, length, near.V_th[c], neuron)
        if x < 0:
            break
        I, begin, length = at_spike, begin + x, length - x
        if spikes < record.times.size:
            record.times[spikes], record.ids[spikes] = begin, j
            record.currents[spikes] = record.releases[spikes] = I
        held.spikes[j] = spikes
        spikes += 1
        if neuron.t_ref > 0:
            # From the time in the record, as an arrival that comes with the release is counted: a run
            # backwards knows no other order of the two.
            near.held_until[c] = held.until[j] = float(record.times.dtype.type(begin)) + neuron.t_ref
        # As V is lower by the same at all times, but for what decays; I goes on.
        V_end -= (near.V_th[c] - V_reset) * factors(length, neuron)[0]
        V = V_reset
    near.V_end[c] = V_end
    return spikes


@njit(_nrt=False)
def hold(
    held: Held, sample: Sample, record: Record, oldest: int, spikes: int, k: int, neuron: Neuron,
    excess: Any, next_V: Any,
) -> int:  # fmt: skip
    """Keep V of neurons that are refractory in step k, and list neurons that are released in it, by `excess`.

    Return the oldest spike that may have such a neuron, from the one of the step before.
    """
    if neuron.t_ref == 0:
        return spikes
    # A step more, for the rounding of times in a record.
    while oldest < spikes and float(record.times[oldest]) + neuron.t_ref < (k - 1) * neuron.dt:
        oldest += 1
    for p in range(oldest, spikes):
        j = record.ids[p]
        if held.until[j] > 0:
            next_V[j] = sample.levels[1, j]
            excess[j] = 1 if held.until[j] <= (k + 1) * neuron.dt else -1
    return oldest


@njit(**INLINED)
def sort_spikes(record: Record, begin: int, end: int) -> None:
    """Sort the spikes of a step by time."""
    for k in range(begin + 1, end):
        time, neuron, current, released = (
            record.times[k], record.ids[k], record.currents[k], record.releases[k]
        )  # fmt: skip
        place = k
        while place > begin and record.times[place - 1] > time:
            record.times[place] = record.times[place - 1]
            record.ids[place] = record.ids[place - 1]
            record.currents[place] = record.currents[place - 1]
            record.releases[place] = record.releases[place - 1]
            place -= 1
        record.times[place], record.ids[place] = time, neuron
        record.currents[place], record.releases[place] = current, released


@njit(_nrt=False)
def is_below(x: Any, limits: Any) -> bool:
    """Return whether each element is below its limit, and not -inf."""
    # A loop: an expression of arrays takes Numba seconds to compile, for the text of its errors.
    faults = 0
    for j in range(x.size):
        faults += not -np.inf < x[j] < limits[j]
    return faults == 0


@njit
def new_near(neurons: int) -> Near:
    """Return room for as many neurons, and the id behind them that `near_threshold` writes."""
    x, state = np.empty((8, neurons)), np.empty(neurons, np.int8)
    return Near(np.empty(neurons + 1, np.int32), x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], state)


def make_simulate(begin: Any, arrive: Any, walk: Any) -> Any:
    """Return the function that runs one sample, for synapses whose arrivals these three deal with.

    `begin(synapses, spikes)` returns what they keep; `arrive(synapses, kept, chains, sample, k, neuron,
    step)` adds up the arrivals of step k and returns them; `walk(near, size, arrived, synapses, sample, held,
    time, neuron, record, spikes)` moves listed neurons from arrival to arrival, and returns how many spikes
    there are.
    """

    @njit
    def simulate(synapses: Any, sample: Sample, state: Any, parameters: Any, record: Record) -> Any:
        """Run one sample, and return its number of spikes, or -1 where an input or a state cannot be right.

        One spike more than there is room for ends the run.
        """
        first_V, first_I, neuron = state[0], state[1], neuron_of(parameters)
        if not (is_below(first_V, sample.levels[0]) and is_below(sample.levels[1], sample.levels[0])):
            return -1
        steps, dt = record.ends.size - 1, neuron.dt
        chains = new_chains(steps, sample.times.size + record.times.size)
        kept = begin(synapses, chains.following.size)
        V, I, next_V, next_I = first_V.copy(), first_I.copy(), np.empty_like(first_V), np.empty_like(first_I)
        V_th, excess, near = sample.levels[0], np.empty_like(V), new_near(V.size)
        step = Step(np.empty_like(V), np.empty_like(V), np.empty_like(V))
        if not enlist_inputs(chains, sample, synapses.first, dt):
            return -1
        held = Held(np.full(V.size, -np.inf), np.zeros(V.size, np.int32))
        record.ends[0] = 0
        # Of a number that is known Numba has a type, for which it would compile all callees once more.
        oldest = spikes = np.int64(0)
        for k in range(steps):
            arrived = arrive(synapses, kept, chains, sample, k, neuron, step)
            advance(V, I, step, V_th, neuron, excess, next_V, next_I)
            oldest = hold(held, sample, record, oldest, spikes, k, neuron, excess, next_V)
            size = near_threshold(excess, V, I, V_th, held, near)
            if size:
                spikes = walk(near, size, arrived, synapses, sample, held, k * dt, neuron, record, spikes)
                for c in range(size):
                    next_V[near.ids[c]] = near.V_end[c]
            if spikes > record.times.size:
                return spikes if np.isfinite(next_V.sum() + next_I.sum()) else -1
            V, next_V, I, next_I = next_V, V, next_I, I
            sort_spikes(record, record.ends[k], spikes)
            for p in range(record.ends[k], spikes):
                held.spikes[record.ids[p]] = p
            enlist_outputs(chains, sample, record.ends[k], spikes, synapses.first, k + 1, dt)
            record.ends[k + 1] = spikes
            if record.trace.shape[0]:
                for j in range(V.size):
                    record.trace[k, j] = V[j]
        # What is NaN once stays so, since it never reaches the threshold.
        return spikes if np.isfinite(V.sum() + I.sum()) else -1

    return simulate
