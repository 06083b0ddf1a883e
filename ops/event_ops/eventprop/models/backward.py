"""A sample backwards: the run is repeated at the known times of spikes, and differentiated from its end on.

Between events cotangents go back by the adjoint of the flow; at a spike at t, which is a root of the level g,
dt = -dg / (dg/dt), at the same states. States are kept at every step of a block, and before each block.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from event_ops.eventprop.adjoint import Gradients
from event_ops.eventprop.arrivals import Sample, enlist_inputs, enlist_outputs, new_chains
from event_ops.eventprop.entries import Entries, Passages, Table, UnderWay, all_passages, fill, new_table
from event_ops.eventprop.entry_steps import sorted_arrivals
from event_ops.eventprop.forward import Record
from event_ops.eventprop.models.emitted import Emitted
from event_ops.kernels.numba_cpu.jit import njit

_ARRIVAL, _END, _SPIKE, _RELEASE = range(4)  # what ends a segment


class Tape(NamedTuple):
    """Hold the segments of a neuron's step: states at the beginning, and at the end before it jumps.

    `kinds`: what ends each; `places`: of the arrival in the table, or of the spike; `held`: in the refractory
    time.
    """

    first: Any
    last: Any
    lengths: Any
    kinds: Any
    places: Any
    held: Any


class OwnSpikes(NamedTuple):
    """Hold for each neuron its first spike of a step, and for each spike the next one; -1: none."""

    first: Any
    following: Any


@njit
def new_tape(size: int, like: Any, states: int) -> Tape:
    """Return room for as many segments."""
    x = np.empty((2, size, states), like.dtype)
    ids = np.empty((2, size), np.int64)
    return Tape(x[0], x[1], np.empty(size), ids[0], ids[1], np.empty(size, np.bool_))


@njit
def roomier(tape: Tape, table: Table, record: Record, k: int) -> Tape:
    """Return a tape with room for all segments of any neuron in step k."""
    size = table.offsets.size + 2 * (record.ends[k + 1] - record.ends[k]) + 2
    if size <= tape.lengths.size:
        return tape
    return new_tape(2 * size, tape.first, tape.first.shape[1])


@njit(_nrt=False)
def own_spikes(record: Record, begin: int, end: int, own: OwnSpikes) -> None:
    """List the spikes of a step by neuron."""
    own.first[:] = -1
    for s in range(end - 1, begin - 1, -1):
        own.following[s], own.first[record.ids[s]] = own.first[record.ids[s]], s


def make_retrace(functions: Emitted, target: int, wait: int, states: int) -> Any:
    """Return the function that moves a neuron through a step again, and keeps its segments on a tape."""
    flow, held, reset = functions.flow, functions.held, functions.reset

    @njit
    def retrace(
        x: Any, j: Any, p: Any, until: Any, table: Table, entries: Entries, begin: float, dt: float,
        record: Record, own: OwnSpikes, tape: Tape,
    ) -> int:  # fmt: skip
        """Return the number of segments."""
        count, now, a, m, s = sorted_arrivals(table, j), 0.0, 0, 0, own.first[j]
        kind = _ARRIVAL
        while kind != _END:
            if a < count:
                end, kind, place = table.offsets[table.places[a]], _ARRIVAL, table.places[a]
            else:
                end, kind, place = dt, _END, np.int64(-1)
            is_held = until[j] > -math.inf
            if is_held:
                free = max(until[j] - begin, now)
                if free <= end:
                    end, kind = free, _RELEASE
            elif s >= 0:
                spiked = min(max(float(record.times[s]) - begin, now), dt)
                if spiked <= end:
                    end, kind, place = spiked, _SPIKE, np.int64(s)
            tape.first[m], tape.lengths[m], tape.held[m] = x, end - now, is_held
            tape.kinds[m], tape.places[m] = kind, place
            last = tape.last[m]
            if is_held:
                held(x, p, j, end - now, last)
            else:
                flow(x, p, j, end - now, last)
            x[:], now, m = last, end, m + 1
            if kind == _SPIKE:
                reset(last, p, j, 0.0, x)
                if wait >= 0 and p[wait, j] > 0:
                    until[j] = float(record.times[s]) + float(p[wait, j])
                s = own.following[s]
            elif kind == _RELEASE:
                until[j] = -math.inf
            elif kind == _ARRIVAL:
                x[target] += entries.weights[table.entries[place]]
                a += 1
        return m

    return retrace


def make_back(functions: Emitted, target: int, wait: int, states: int) -> Any:
    """Return the function that goes back through a step of a neuron, by its tape."""
    flow_back, held_back = functions.flow_back, functions.held_back
    level_back, reset_back = functions.level_back, functions.reset_back

    @njit
    def add(parameters: Any, j: Any, found: Any, factor: float) -> None:
        for k in range(parameters.shape[0]):
            parameters[k, j] += factor * found[states + k]

    @njit
    def back(
        j: Any, p: Any, count: int, tape: Tape, table: Table, entries: Entries, record: Record, inputs: int,
        cotangents: Any, c: Any, found: Any, of_level: Any, of_release: Any, gradients: Gradients,
    ) -> None:  # fmt: skip
        """Go back; c: cotangents of the states of the neuron; `of_release`: of when it is next released."""
        one, parameters, time, of_time = np.ones(1, c.dtype), gradients.levels, p.shape[0] + states, 0.0
        for m in range(count - 1, -1, -1):
            kind, place, first, last = tape.kinds[m], tape.places[m], tape.first[m], tape.last[m]
            if kind == _SPIKE:
                of_time += cotangents[place] + gradients.arrivals[inputs + place] + of_release[j]
                of_release[j] = 0
                reset_back(c, last, p, j, 0.0, found)
                c[:] = found[:states]
                add(parameters, j, found, 1.0)
            elif kind == _ARRIVAL:
                gradients.weights[table.entries[place]] += c[target]
            if tape.held[m]:
                held_back(c, first, p, j, tape.lengths[m], found)
            else:
                flow_back(c, first, p, j, tape.lengths[m], found)
            c[:] = found[:states]
            add(parameters, j, found, 1.0)
            moving = float(found[time])
            if kind == _SPIKE:
                # What no loss depends on has no derivative, also where the level only touches 0.
                if of_time + moving != 0:
                    level_back(one, last, p, j, 0.0, of_level)
                    flow_back(of_level, first, p, j, tape.lengths[m], found)
                    by = -(of_time + moving) / float(found[time])
                    add(parameters, j, of_level, by)
                    add(parameters, j, found, by)
                    for k in range(states):
                        c[k] += by * found[k]
                continue  # as the event before is later, so is the spike
            of_time += moving
            if kind == _RELEASE:
                of_release[j] += of_time
                parameters[wait, j] += of_time
            elif kind == _ARRIVAL:
                gradients.delays[table.entries[place]] += of_time
                gradients.arrivals[table.spikes[place]] += of_time
            of_time = -moving

    return back


def make_differentiate(functions: Emitted, target: int, wait: int, states: int) -> Any:
    """Return the function that goes back through one sample."""
    retrace = make_retrace(functions, target, wait, states)
    back = make_back(functions, target, wait, states)

    @njit
    def arrivals(
        k: int, passages: Passages, entries: Entries, sample: Sample, dt: float, record: Record,
        own: OwnSpikes,
    ) -> Table:  # fmt: skip
        """Return the arrivals of step k, and list its spikes by neuron."""
        low, high = passages.starts[k], passages.starts[k + 1]
        under_way = UnderWay(passages.spikes[low:high], passages.begin[low:high], passages.end[low:high])
        total = np.int64(0)
        for i in range(low, high):
            total += passages.end[i] - passages.begin[i]
        table = new_table(total, own.first.size)
        fill(table, entries, sample, under_way, high - low, k, dt)
        own_spikes(record, record.ends[k], record.ends[k + 1], own)
        return table

    @njit
    def differentiate(
        entries: Entries, sample: Sample, record: Record, state: Any, cotangents: Any, ct_state: Any,
        parameters: Any, gradients: Gradients,
    ) -> None:  # fmt: skip
        """Go back through one sample; ct_state becomes the derivatives in the first states."""
        p, dt, steps, neurons = sample.levels, float(parameters[0]), record.ends.size - 1, state.shape[1]
        chains = new_chains(steps, sample.times.size + record.times.size)
        enlist_inputs(chains, sample, entries.first, dt)
        for k in range(steps):
            enlist_outputs(chains, sample, record.ends[k], record.ends[k + 1], entries.first, k + 1, dt)
        passages = all_passages(entries, chains, sample, dt)
        own = OwnSpikes(np.empty(neurons, np.int64), np.empty(record.times.size, np.int64))
        block = np.int64(math.ceil(math.sqrt(steps)))
        blocks = (steps + block - 1) // block
        of_blocks, of_steps = (
            np.empty((blocks, neurons, states), state.dtype), np.empty((block, neurons, states), state.dtype)
        )  # fmt: skip
        held_blocks, held_steps = np.empty((blocks, neurons)), np.empty((block, neurons))
        x, until = np.empty((neurons, states), state.dtype), np.full(neurons, -math.inf)
        for j in range(neurons):
            for i in range(states):
                x[j, i] = state[i, j]
        tape = new_tape(np.int64(16), state, states)
        for k in range(steps):
            if k % block == 0:
                of_blocks[k // block], held_blocks[k // block] = x, until
            table = arrivals(k, passages, entries, sample, dt, record, own)
            tape = roomier(tape, table, record, k)
            for j in range(neurons):
                retrace(x[j], np.int64(j), p, until, table, entries, k * dt, dt, record, own, tape)
        c, of_release = np.zeros((neurons, states), state.dtype), np.zeros(neurons)
        inputs = states + p.shape[0]
        found, of_level = np.empty(inputs + 1, state.dtype), np.empty(inputs, state.dtype)
        gradients.arrivals[:] = 0
        for b in range(blocks - 1, -1, -1):
            x[:], until[:] = of_blocks[b], held_blocks[b]
            last = min((b + 1) * block, steps)
            for k in range(b * block, last):
                of_steps[k - b * block], held_steps[k - b * block] = x, until
                if k + 1 < last:
                    table = arrivals(k, passages, entries, sample, dt, record, own)
                    for j in range(neurons):
                        retrace(x[j], np.int64(j), p, until, table, entries, k * dt, dt, record, own, tape)
            for k in range(last - 1, b * block - 1, -1):
                x[:], until[:] = of_steps[k - b * block], held_steps[k - b * block]
                table = arrivals(k, passages, entries, sample, dt, record, own)
                for j in range(neurons):
                    count = retrace(
                        x[j], np.int64(j), p, until, table, entries, k * dt, dt, record, own, tape
                    )  # fmt: skip
                    back(
                        np.int64(j), p, count, tape, table, entries, record, sample.times.size, cotangents,
                        c[j], found, of_level, of_release, gradients,
                    )  # fmt: skip
        for j in range(neurons):
            for i in range(states):
                ct_state[i, j] = c[j, i]

    return differentiate
