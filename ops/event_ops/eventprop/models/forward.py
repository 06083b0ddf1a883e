"""A sample forwards: each neuron from event to event within a step, to exact times of its spikes."""

import math
from typing import Any

import numpy as np

from event_ops.eventprop.arrivals import Sample, enlist_inputs, enlist_outputs, new_chains
from event_ops.eventprop.entries import Entries, Table, fill, joined, new_table, new_under_way, passed
from event_ops.eventprop.entry_steps import sorted_arrivals
from event_ops.eventprop.forward import Record, sort_spikes
from event_ops.eventprop.models.crossings import LOOKS, TURNS
from event_ops.eventprop.models.emitted import Emitted
from event_ops.kernels.numba_cpu.jit import njit


@njit(_nrt=False, error_model="numpy")
def maximum_of_cubic(first: float, first_slope: float, last: float, last_slope: float) -> float:
    """Return where in (0, 1) the cubic with these values and slopes at 0 and 1 has a maximum; else NaN."""
    # The slope at u is first_slope + 2 * square * u + cube * u**2; of its roots this one has a maximum.
    rise = 3 * (last - first)
    square, cube = rise - 2 * first_slope - last_slope, 3 * (first_slope + last_slope) - 2 * rise
    under = square * square - cube * first_slope
    if not under > 0:
        return np.nan
    place = (-square - np.sqrt(under)) / cube if square > 0 else first_slope / (np.sqrt(under) - square)
    return place if 0 < place < 1 else np.nan


def make_crossing(functions: Emitted, states: int) -> Any:
    """Return the function that finds when a neuron spikes.

    `crossing(x, p, j, length, out)` returns the first root of the level within a length, or -1; out becomes
    what `rise` returns there, or at the end.
    """
    rise = functions.rise

    @njit
    def search(x: Any, p: Any, j: Any, length: float, out: Any) -> float:
        """Return the root within a length behind which the level is above 0: Newton's method in a bracket."""
        low, high, h, close = 0.0, length, length, 4 * np.finfo(out.dtype).eps
        for _ in range(TURNS):
            over, slope = out[states], out[states + 1]
            if over > 0:
                high = h
            else:
                low = h
            to = h - over / slope
            if over == 0 or abs(to - h) <= close * length or high - low <= close * length:
                break
            h = to if low < to < high else low + 0.5 * (high - low)
            rise(x, p, j, h, out)
        return h

    @njit
    def crossing(x: Any, p: Any, j: Any, length: float, out: Any) -> float:
        rise(x, p, j, 0.0, out)
        over_low, slope_low = float(out[states]), float(out[states + 1])
        rise(x, p, j, length, out)
        over_high, slope_high = float(out[states]), float(out[states + 1])
        low, high, is_over = 0.0, length, over_high > 0
        for turn in range(TURNS):
            width, share = high - low, 0.5
            if slope_low > 0 > slope_high:
                if is_over:
                    break  # one maximum, behind the root
            elif turn < LOOKS:
                share = maximum_of_cubic(over_low, slope_low * width, over_high, slope_high * width)
            else:
                break
            middle = low + share * width
            if not low < middle < high:
                break
            rise(x, p, j, middle, out)
            if out[states] > 0:
                return search(x, p, j, middle, out)
            if out[states + 1] > 0:
                low, over_low, slope_low = middle, float(out[states]), float(out[states + 1])
            else:
                high, over_high, slope_high = middle, float(out[states]), float(out[states + 1])
        if low > 0 or high < length:
            rise(x, p, j, length, out)
        return search(x, p, j, length, out) if is_over else -1.0

    return crossing


def make_simulate(functions: Emitted, target: int, wait: int, states: int) -> Any:
    """Return the function that runs one sample."""
    held, level, reset = functions.held, functions.level, functions.reset
    crossing = make_crossing(functions, states)

    @njit
    def advance(
        x: Any, j: Any, p: Any, until: Any, table: Table, entries: Entries, begin: float, dt: float,
        record: Record, spikes: int, out: Any,
    ) -> int:  # fmt: skip
        """Move one neuron through a step; return the number of spikes so far, or -1 where it cannot be right.

        `until`: the end of its refractory time, or -inf.
        """
        count, now, a = sorted_arrivals(table, j), 0.0, 0
        while spikes <= record.times.size:
            end = table.offsets[table.places[a]] if a < count else dt
            is_held, is_freed = until[j] > -math.inf, False
            if is_held:
                free = max(until[j] - begin, now)
                is_freed = free <= end
                end = min(free, end)
                held(x, p, j, end - now, out)
            else:
                h = crossing(x, p, j, end - now, out)
                if h >= 0:
                    now = min(now + h, end)
                    reset(out, p, j, 0.0, x)
                    level(x, p, j, 0.0, out)
                    if not out[0] < 0:
                        return -1
                    if spikes < record.times.size:
                        record.times[spikes], record.ids[spikes] = begin + now, j
                    spikes += 1
                    if wait >= 0 and p[wait, j] > 0:
                        # From the time in the record, as an arrival that comes with the release is counted.
                        until[j] = float(record.times.dtype.type(begin + now)) + float(p[wait, j])
                    continue
            x[:] = out[:states]
            now = end
            if is_freed:
                until[j] = -math.inf
                level(x, p, j, 0.0, out)
                if not out[0] < 0:
                    return -1
            elif a < count:
                x[target] += entries.weights[table.entries[table.places[a]]]
                a += 1
            else:
                break
        return spikes

    @njit
    def simulate(entries: Entries, sample: Sample, state: Any, parameters: Any, record: Record) -> Any:
        """Run one sample; return its number of spikes, or -1 where an input or a state cannot be right."""
        p, dt, steps, neurons = sample.levels, float(parameters[0]), record.ends.size - 1, state.shape[1]
        chains = new_chains(steps, sample.times.size + record.times.size)
        under_way, count = new_under_way(chains.following.size), np.int64(0)
        x, out = np.empty((neurons, states), state.dtype), np.empty(states + 2, state.dtype)
        until = np.full(neurons, -math.inf)
        for j in range(neurons):
            for k in range(states):
                x[j, k] = state[k, j]
            level(x[j], p, np.int64(j), 0.0, out)
            if not out[0] < 0:
                return -1
        if not enlist_inputs(chains, sample, entries.first, dt):
            return -1
        record.ends[0] = 0
        spikes = np.int64(0)
        for k in range(steps):
            count = joined(chains, k, sample, entries, under_way, count)
            count, total = passed(entries, sample, under_way, count, (k + 1) * dt)
            table = new_table(total, neurons)
            fill(table, entries, sample, under_way, count, k, dt)
            for j in range(neurons):
                spikes = advance(
                    x[j], np.int64(j), p, until, table, entries, k * dt, dt, record, spikes, out
                )  # fmt: skip
                if not 0 <= spikes <= record.times.size:
                    return spikes
            sort_spikes(record, record.ends[k], spikes)
            enlist_outputs(chains, sample, record.ends[k], spikes, entries.first, k + 1, dt)
            record.ends[k + 1] = spikes
        faults = 0
        for j in range(neurons):
            for k in range(states):
                faults += not np.isfinite(x[j, k])
        return spikes if faults == 0 else -1

    return simulate
