"""A sample backwards: the run is repeated at the known times of spikes, and differentiated from its end on.

Between events cotangents go back by the adjoint of the flow; at a spike at t, which is a root of the level g,
dt = -dg / (dg/dt), at the same states. States are kept at every step, or, of a long run, of a turn,
and before each turn.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np

from event_ops.eventprop.adjoint import Gradients
from event_ops.eventprop.arrivals import Chains, Sample, enlist_inputs, enlist_outputs, new_chains
from event_ops.eventprop.forward import Record
from event_ops.eventprop.models.blocks import ROOM, Places, add_row, copy, new_blocks, sum_of
from event_ops.eventprop.models.emitted import Emitted
from event_ops.eventprop.models.passing import (
    ARRIVAL,
    END,
    RELEASE,
    SPIKE,
    Segments,
    Tape,
    make_through,
    new_tape,
    own_spikes,
    segment,
)
from event_ops.kernels.numba_cpu.jit import njit

_KEPT: Final = 1 << 24  # bytes of states of all steps, above which a run is divided into turns


class Run(NamedTuple):
    """Hold the run of a sample that is gone back through; `first` and `following` as `Segments` has them."""

    synapses: Any
    kept: Any
    chains: Chains
    sample: Sample
    record: Record
    blocks: Any
    until: Any
    first: Any
    following: Any
    cotangents: Any
    of_release: Any
    gradients: Gradients
    dt: Any


def make_back(functions: Emitted, places: Places, target: int, wait: int, states: int) -> Any:
    """Return the function that goes back through a step of a block, by its tape."""
    moved_back, move_all_back = functions.moved_back, functions.move_all_back
    level_back, reset_back = functions.level_back, functions.reset_back
    held_at, over, cotangents_at, time = places.held, places.over, places.cotangents, places.time

    @njit(_nrt=False)
    def add(parameters: Any, j: Any, found: Any, factor: float) -> None:
        for k in range(parameters.shape[0]):
            parameters[k, j] += factor * found[states + k]

    @njit(_nrt=False, error_model="numpy")
    def alone(
        j: Any, p: Any, low: int, high: int, of: Segments, tape: Tape, inputs: int, cotangents: Any, c: Any,
        found: Any, of_level: Any, one: Any, of_release: Any, gradients: Gradients,
    ) -> float:  # fmt: skip
        """Go back through pieces of a neuron; return the derivative in the time of their end.

        `c`: cotangents of its states, and the derivative in when the next piece begins, which becomes that of
        the first; `of_release`: the derivative in the time of its next release.
        """
        parameters, length, total = gradients.levels, p.shape[0] + states, 0.0
        of_time = float(c[states])
        for m in range(high - 1, low - 1, -1):
            kind, place, first, last = tape.kinds[m], tape.places[m], tape.first[m], tape.last[m]
            if kind == SPIKE:
                of_time += cotangents[place] + gradients.arrivals[inputs + place] + of_release[j]
                of_release[j] = 0
                reset_back(c, last, p, j, found)
                copy(c, 0, found, 0, states)
                add(parameters, j, found, 1.0)
            elif kind == ARRIVAL:
                gradients.weights[of.table.entries[place]] += c[target]
            moved_back(c, first, p, j, tape.lengths[m], tape.held[m], found)
            copy(c, 0, found, 0, states)
            add(parameters, j, found, 1.0)
            moving = float(found[length])
            if kind == SPIKE:
                # What no loss depends on has no derivative, also where the level only touches 0.
                if of_time + moving != 0:
                    level_back(one, last, p, j, of_level)
                    moved_back(of_level, first, p, j, tape.lengths[m], False, found)
                    by = -(of_time + moving) / float(found[length])
                    add(parameters, j, of_level, by)
                    add(parameters, j, found, by)
                    for k in range(states):
                        c[k] += by * found[k]
                continue  # as the event before is later, so is the spike
            of_time += moving
            if kind == RELEASE:
                of_release[j] += of_time
                parameters[wait, j] += of_time
            elif kind == ARRIVAL:
                gradients.delays[of.table.entries[place]] += of_time
                gradients.arrivals[of.table.spikes[place]] += of_time
            elif kind == END:
                total = of_time
            of_time = -moving
        c[states] = of_time
        return total

    @njit(_nrt=False)
    def back(
        w: Any, first: int, p: Any, of: Segments, tape: Tape, inputs: int, cotangents: Any, saved: Any,
        totals: Any, found: Any, of_level: Any, one: Any, of_release: Any, gradients: Gradients,
    ) -> None:  # fmt: skip
        """Go back: all neurons of a block at once, but a neuron that was alone by itself.

        `saved`: room for what these have found, behind which the rest of the block writes into their places.
        """
        size, neurons = min(of.first.size - first, ROOM), of.first.size
        for i in range(size):
            w[np.uintp(time + i)] = 0
        for r in range(of.count, -1, -1):
            now, end, is_wanted, is_needed = segment(of, r)
            row, low, high = np.int64(of.arrivals.rows[r]), tape.starts[r], tape.starts[r + 1]
            if r < of.count:
                place = row * neurons + first
                add_row(gradients.weights, place, w, cotangents_at + target * ROOM, size)
            if not is_needed:
                continue
            copy(w, 0, tape.rows[r], 0, held_at + ROOM)
            for v in range(low, high):
                i, own = tape.ids[v], saved[v - low]
                for k in range(own.size):
                    own[k] = w[cotangents_at + k * ROOM + i]
                begin = tape.ends[v - 1] if v > 0 else 0
                totals[v - low] = alone(
                    first + i, p, begin, tape.ends[v], of, tape, inputs, cotangents, own, found, of_level,
                    one, of_release, gradients,
                )  # fmt: skip
            move_all_back(w, p, end - now, size)
            if is_wanted:
                add_row(w, time, w, over, size)
                for v in range(low, high):
                    w[time + tape.ids[v]] = totals[v - low]
                total = sum_of(w, time, size)
                gradients.delays[row] += total
                gradients.arrivals[of.arrivals.spikes[r]] += total
            for i in range(size):
                w[np.uintp(time + i)] = -w[np.uintp(over + i)]
            for v in range(low, high):
                for k in range(saved.shape[1]):
                    w[cotangents_at + k * ROOM + tape.ids[v]] = saved[v - low, k]

    return back


def make_differentiate(
    functions: Emitted, places: Places, target: int, wait: int, states: int, begin: Any, again: Any
) -> Any:
    """Return the function that goes back through one sample, with arrivals that `again` returns."""
    given = functions, places, target, wait, states
    through, back = make_through(*given, is_known=True), make_back(*given)
    held_at, cotangents_at, of_parameters = places.held, places.cotangents, places.of_parameters
    of_states = states * ROOM

    @njit
    def repeat(run: Run, k: int, is_back: bool) -> None:
        """Move all neurons through step k, and, if asked, go back."""
        p, blocks, record = run.sample.levels, run.blocks, run.record
        neurons, inputs = run.first.size, run.sample.times.size
        arrivals, count, table = again(run.synapses, run.kept, run.chains, run.sample, neurons, k, run.dt)
        wanted = 0 if run.gradients.of_inputs else inputs
        weights = run.synapses.weights.reshape(-1)
        of = Segments(arrivals, count, table, weights, run.first, run.following, k, run.dt, wanted)
        own_spikes(record, of)
        spikes = record.ends[k + 1] - record.ends[k]
        tape = new_tape(count + 1, table.entries.size, spikes, held_at + ROOM, states, blocks)
        size = states + p.shape[0]
        x, ids = np.ones((4, size + 2), blocks.dtype), np.empty(ROOM + 1, np.int32)
        saved, totals = np.empty((ROOM, size + 1), blocks.dtype), np.empty(ROOM)
        for b in range(blocks.shape[0]):
            through(blocks[b], b * ROOM, p, run.until, of, record, np.int64(0), tape, x[0], x[1], ids)
            if is_back:
                back(
                    blocks[b], b * ROOM, p, of, tape, inputs, run.cotangents, saved, totals, x[1], x[2],
                    x[3], run.of_release, run.gradients,
                )  # fmt: skip

    @njit
    def keep(run: Run, rows: Any, held: Any) -> None:
        copy(held, 0, run.until, 0, held.size)
        for b in range(rows.shape[0]):
            copy(rows[b], 0, run.blocks[b], 0, of_states)

    @njit
    def restore(run: Run, rows: Any, held: Any) -> None:
        copy(run.until, 0, held, 0, held.size)
        for b in range(rows.shape[0]):
            copy(run.blocks[b], 0, rows[b], 0, of_states)

    @njit
    def differentiate(
        synapses: Any, sample: Sample, record: Record, state: Any, cotangents: Any, ct_state: Any,
        parameters: Any, gradients: Gradients,
    ) -> None:  # fmt: skip
        """Go back through one sample; ct_state becomes the derivatives in the first states."""
        p, dt, steps, neurons = sample.levels, float(parameters[0]), record.ends.size - 1, state.shape[1]
        chains = new_chains(steps, sample.times.size + record.times.size)
        enlist_inputs(chains, sample, synapses.first, dt)
        for k in range(steps):
            enlist_outputs(chains, sample, record.ends[k], record.ends[k + 1], synapses.first, k + 1, dt)
        kept, blocks = (
            begin(synapses, chains, sample, neurons, dt),
            new_blocks(state, p, places.parameters, places.end),
        )
        g, of_weights = gradients, gradients.weights.reshape(-1)
        flat = Gradients(of_weights, g.delays, g.levels, g.arrivals, g.of_inputs, g.of_releases, g.released)
        run = Run(
            synapses, kept, chains, sample, record, blocks, np.full(neurons, -math.inf),
            np.empty(neurons, np.int64), np.empty(record.times.size, np.int64), cotangents, np.zeros(neurons),
            flat, dt,
        )  # fmt: skip
        together = np.int64(max(steps, 1))
        if steps * blocks.shape[0] * of_states * blocks.itemsize > _KEPT:
            together = np.int64(math.ceil(math.sqrt(steps)))
        turns = (steps + together - 1) // together
        rows = np.empty((turns + together, blocks.shape[0], of_states), state.dtype)
        held = np.empty((turns + together, neurons))
        gradients.arrivals[:] = 0
        for k in range((turns - 1) * together + 1):
            if k % together == 0:
                keep(run, rows[k // together], held[k // together])
            if k < (turns - 1) * together:
                repeat(run, k, False)
        for turn in range(turns - 1, -1, -1):
            begins, ends = turn * together, min((turn + 1) * together, steps)
            restore(run, rows[turn], held[turn])
            for k in range(begins, ends):
                keep(run, rows[turns + k - begins], held[turns + k - begins])
                if k + 1 < ends:
                    repeat(run, k, False)
            for k in range(ends - 1, begins - 1, -1):
                restore(run, rows[turns + k - begins], held[turns + k - begins])
                repeat(run, k, True)
        for j in range(neurons):
            for i in range(states):
                ct_state[i, j] = blocks[j // ROOM, cotangents_at + i * ROOM + j % ROOM]
            for i in range(p.shape[0]):
                gradients.levels[i, j] += blocks[j // ROOM, of_parameters + i * ROOM + j % ROOM]

    return differentiate
