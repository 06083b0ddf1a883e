"""A block of neurons through a step: all at once from arrival to arrival, alone where one has events."""

import math
from typing import Any, NamedTuple

import numpy as np

from event_ops.eventprop.entries import Table
from event_ops.eventprop.entry_steps import sorted_arrivals
from event_ops.eventprop.forward import Record, list_positive
from event_ops.eventprop.models.blocks import (
    ROOM,
    Places,
    add_row,
    copy,
    mark_events,
    mark_held,
)
from event_ops.eventprop.models.emitted import Emitted
from event_ops.eventprop.models.root_search import make_crossing
from event_ops.eventprop.rows import Arrivals
from event_ops.kernels.numba_cpu.jit import njit

ARRIVAL, END, SPIKE, RELEASE = range(4)  # what ends a piece


class Segments(NamedTuple):
    """Hold the arrivals of step k: at all neurons, where its segments end, and at single neurons.

    For each neuron `first` has its next spike of the step, and `following` for each spike the one behind it;
    -1: none. `wanted`: the first spike whose time has a derivative that is wanted.
    """

    arrivals: Arrivals
    count: Any
    table: Table
    weights: Any
    first: Any
    following: Any
    k: Any
    dt: Any
    wanted: Any


class Tape(NamedTuple):
    """Hold rows of a block before each segment, and the neurons that go through a segment alone, in pieces.

    Those of segment r are from `starts[r]` to `starts[r + 1]`: `ids` in the block, `ends` of their pieces.
    Of a piece: states at its `first` and, before a jump, its `last`, its length, what ends it, the place of
    the arrival in the table or of the spike, and whether states are held.
    """

    rows: Any
    starts: Any
    ids: Any
    ends: Any
    first: Any
    last: Any
    lengths: Any
    kinds: Any
    places: Any
    held: Any


@njit
def new_tape(segments: int, arrivals: int, spikes: int, rows: int, states: int, like: Any) -> Tape:
    """Return room for a step of a block at known times of spikes.

    A neuron may be held when it begins, each spike may have a release, and who is alone has a piece more.
    """
    size = arrivals + 4 * spikes + 3 * ROOM
    x, ids = np.empty((2, size, states), like.dtype), np.empty((4, size), np.int64)
    return Tape(
        np.empty((segments, rows), like.dtype), np.empty(segments + 1, np.int64), ids[0], ids[1], x[0], x[1],
        np.empty(size), ids[2], ids[3], np.empty(size, np.bool_),
    )  # fmt: skip


@njit(_nrt=False)
def own_spikes(record: Record, of: Segments) -> None:
    """List the spikes of a step by neuron."""
    for j in range(of.first.size):
        of.first[j] = -1
    for s in range(record.ends[of.k + 1] - 1, record.ends[of.k] - 1, -1):
        of.following[s], of.first[record.ids[s]] = of.first[record.ids[s]], s


@njit(_nrt=False)
def segment(of: Segments, r: int) -> tuple[float, float, bool, bool]:
    """Return begin and end of segment r, whether the derivative in its end is wanted, and whether r counts.

    One without a length counts at the beginning, and between arrivals if a derivative in either is wanted.
    """
    now, end, is_wanted, is_needed = 0.0, of.dt, False, r == 0
    if r > 0:
        now, is_needed = of.arrivals.offsets[r - 1], of.arrivals.spikes[r - 1] >= of.wanted
    if r < of.count:
        end, is_wanted = of.arrivals.offsets[r], of.arrivals.spikes[r] >= of.wanted
    return now, end, is_wanted, end > now or is_needed or is_wanted


def make_through(
    functions: Emitted, places: Places, target: int, wait: int, states: int, *, is_known: bool
) -> Any:
    """Return the function that moves a block through a step; is_known: at times of spikes of a record.

    Otherwise spikes are looked for, and added to the record, and the tape has but one piece.
    """
    moved, level, reset, crossing = (
        functions.moved,
        functions.level,
        functions.reset,
        make_crossing(functions, states),
    )
    pass_all = functions.move_all if is_known else functions.reach_all
    held_at, over, after = places.held, places.over, places.after

    @njit(_nrt=False)
    def alone(
        x: Any, j: Any, p: Any, until: Any, now: float, last: float, of: Segments, record: Record, tape: Tape,
        m: int, spikes: int, out: Any,
    ) -> tuple[int, int]:  # fmt: skip
        """Move one neuron through a segment, by pieces on a tape from m on.

        Return where they end, and the number of spikes so far, or -1 where it cannot be right. `until`: the
        end of the refractory time, or -inf.
        """
        table, begin = of.table, of.k * of.dt
        count, a, s, kind = sorted_arrivals(table, j), 0, of.first[j], ARRIVAL
        while kind != END and spikes <= record.times.size:
            if a < count:
                end, kind, place = table.offsets[table.places[a]], ARRIVAL, table.places[a]
            else:
                end, kind, place = last, END, np.int64(-1)
            is_held = until[j] > -math.inf
            if is_held:
                free = max(until[j] - begin, now)
                if free <= end:
                    end, kind = free, RELEASE
            elif is_known:
                spiked = min(max(float(record.times[s]) - begin, now), of.dt) if s >= 0 else math.inf
                if spiked <= end:
                    end, kind, place = spiked, SPIKE, np.int64(s)
            else:
                h = crossing(x, p, j, end - now, out)
                if h >= 0:
                    end, kind = min(now + h, end), SPIKE
            tape.lengths[m], tape.held[m], tape.kinds[m], tape.places[m] = end - now, is_held, kind, place
            copy(tape.first[m], 0, x, 0, states)
            moved(x, p, j, end - now, is_held, tape.last[m])
            copy(x, 0, tape.last[m], 0, states)
            now = end
            if kind == SPIKE:
                reset(tape.last[m], p, j, x)
                time = begin + now
                if is_known:
                    time, s = float(record.times[s]), of.following[s]
                elif spikes < record.times.size:
                    record.times[spikes], record.ids[spikes] = time, j
                spikes += not is_known
                if wait >= 0 and p[wait, j] > 0:
                    # From the time in the record, as an arrival that comes with the release is counted.
                    until[j] = float(record.times.dtype.type(time)) + float(p[wait, j])
            elif kind == RELEASE:
                until[j] = -math.inf
            elif kind == ARRIVAL:
                x[target] += of.weights[table.entries[place]]
                a += 1
            if not is_known and kind in (SPIKE, RELEASE):
                level(x, p, j, out)
                if not out[0] < 0:
                    return m, -1
            m += is_known
        of.first[j] = s
        return m, spikes

    @njit(_nrt=False)
    def through(
        w: Any, first: int, p: Any, until: Any, of: Segments, record: Record, spikes: int, tape: Tape, x: Any,
        out: Any, ids: Any,
    ) -> int:  # fmt: skip
        """Move the neurons from `first` on, whose rows are w; return a number of spikes, as `alone` does."""
        neurons, begin = of.first.size, of.k * of.dt
        size, s, m, v = min(neurons - first, ROOM), np.int64(record.ends[of.k]), np.int64(0), np.int64(0)
        for r in range(of.count + 1):
            now, end, _, is_needed = segment(of, r)
            tape.starts[r if is_known else 0] = v
            if is_needed:
                if wait >= 0:
                    mark_held(w, held_at, until, first, size, begin + end)
                if is_known:
                    copy(tape.rows[r], 0, w, 0, over)
                pass_all(w, p, end - now, size)
                if is_known:
                    for i in range(size):
                        w[np.uintp(over + i)] = 0
                    while s < record.ends[of.k + 1] and min(max(record.times[s] - begin, now), of.dt) <= end:
                        if 0 <= record.ids[s] - first < size:
                            w[over + record.ids[s] - first] = 1
                        s += 1
                if wait >= 0 or of.table.entries.size:
                    mark_events(w, over, until, of.table, first, size, begin + end)
                for c in range(list_positive(w[over : over + size], ids)):
                    i = np.int64(ids[c])
                    for n in range(states):
                        x[n] = w[n * ROOM + i]
                    m, spikes = alone(x, first + i, p, until, now, end, of, record, tape, m, spikes, out)
                    if not 0 <= spikes <= record.times.size:
                        return spikes
                    for n in range(states):
                        w[after + n * ROOM + i] = x[n]
                    if is_known:
                        tape.ids[v], tape.ends[v] = i, m
                        v += 1
                copy(w, 0, w, after, states * ROOM)
            if r < of.count:
                add_row(w, target * ROOM, of.weights, of.arrivals.rows[r] * neurons + first, size)
        tape.starts[of.count + 1 if is_known else 1] = v
        return spikes

    return through
