"""Cases of `csr_event_arrivals`."""

from functools import partial
from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, Call, Outs, rows_of
from event_ops.cases.draw import Draw, Shape, drawn, stored_as
from event_ops.cases.histories import (
    around_arrivals,
    drawn_history,
    invalid_histories,
    listed,
    packed_rows,
    recent_events,
)
from event_ops.cases.matrices import MATRIX_2_4, lead_astray

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

HISTORY, DATA = 0, 1


@drawn
def _random(
    draw: Draw,
    shape: Shape,
    nse: int,
    slots: int,
    events: str = "bool",
    one: bool = False,
    slot: int = 2,
    initial: bool = False,
) -> Arguments:
    """Return random arrays; `one`: one weight for all; `events`: "bits", "ids" or a kind of `Draw.events`."""
    rows, columns = shape
    data, indices, indptr = draw.csr((rows * slots, columns), nse)
    history, encoding = drawn_history(draw, (slots, rows), 0.4, events)
    static: dict[str, Any] = {"shape": shape, **encoding}
    if initial:
        static["initial"] = draw.numbers((columns,))
    weights = draw.numbers(()) if one else data
    return (history, weights, indices, indptr, np.int32(slot)), static


@drawn
def _out_of_range(draw: Draw) -> Arguments:
    """Return columns out of range, bits behind the last neuron, and NaN as the weights of silent neurons."""
    rows, slots, slot = 6, 4, -3
    args, static = _random((rows, 7), 60, slots, "bits", slot=slot)(*draw)
    history, data, indices, indptr, now = args
    lead_astray(indices, 7)
    flags = np.unpackbits(history.view(np.uint8), axis=1, bitorder="little")[:, :rows].astype(bool)
    recent = flags[(slot - np.arange(slots)) % slots].T.reshape(-1)
    data[~np.repeat(recent, np.diff(indptr))] = np.nan
    return (history | np.uint32(0xFFFFFFFF << rows & 0xFFFFFFFF), data, indices, indptr, now), static


@drawn
def _sized(draw: Draw, neurons: int, per_row: int, rate: float, encoding: str) -> Arguments:
    """Return spikes, and `per_row` synapses for each neuron, with random delays of 1 to 31 steps."""
    encoded = {
        "bits": packed_rows,
        "flags": lambda flags: flags,
        "ids": lambda flags: listed(flags, neurons // 16),
    }
    slots, rows = 32, neurons * 32
    counts = draw.rng.multinomial(per_row, np.r_[0, np.full(slots - 1, 1 / (slots - 1))], neurons)
    indptr = np.concatenate([[0], np.cumsum(counts.reshape(rows))]).astype(draw.index_dtype)
    indices = draw.rng.integers(0, neurons, indptr[-1]).astype(draw.index_dtype)
    history = draw.rng.random((slots, neurons)) < rate
    static = {"shape": (neurons, neurons), "encoding": encoding}
    data = draw.numbers((indices.size,))
    return (encoded[encoding](history), data, indices, indptr, np.int32(5)), static


_summed = partial(Case, tolerance=20)
_in_data = partial(_summed, differentiable=(DATA,))
_in_both = partial(_summed, differentiable=(HISTORY, DATA))

CASES = (
    _in_data("random", _random((17, 11), 300, 5)),
    _in_both("random-float", _random((17, 11), 300, 5, "float", slot=98)),
    _in_data("random-bits", _random((37, 11), 300, 3, "bits")),
    _in_data("random-ids", _random((37, 11), 300, 3, "ids")),
    _in_data("random-counts", _random((37, 11), 300, 3, "uint8"), tolerance=50),
    _in_data("one-counts", _random((9, 6), 90, 3, "uint16", one=True), tolerance=50),
    _in_data("initial", _random((17, 11), 300, 5, initial=True)),
    _summed("initial-ids", _random((17, 11), 300, 5, "ids", initial=True, slot=-1)),
    _in_both("one-float", _random((9, 6), 90, 3, "float", one=True)),
    Case("out-of-range", _out_of_range(), tolerance=5),
    Case("no-rows", _random((0, 4), 3, 2)),
    Case("no-columns", _random((4, 0), 3, 2)),
    _summed("float16", stored_as("float16", DATA, _random((17, 11), 300, 5))),
    _summed("bfloat16", stored_as("bfloat16", DATA, _random((17, 11), 300, 5, "float"))),
    benchmark("4000-80-1.00%-flags", _sized(4000, 80, 0.01, "flags")),
    benchmark("40000-80-0.10%-bits", _sized(40_000, 80, 0.001, "bits")),
    benchmark("100000-100-0.10%-bits", _sized(100_000, 100, 0.001, "bits")),
    benchmark("100000-100-0.10%-ids", _sized(100_000, 100, 0.001, "ids")),
)

_INDPTR = np.array([0, 1, 3, 3, 3, 3, 3], np.int32)
_wrong = changes_to(
    {"history": np.ones((3, 2), bool)} | MATRIX_2_4 | {"indptr": _INDPTR, "slot": np.int32(0)}, shape=(2, 4)
)

INVALID_CALLS = (
    *invalid_histories(_wrong),
    _wrong("mixed", TypeError, "data has dtype int32", data=np.ones(3, np.int32)),
    _wrong("by-neuron", ValueError, r"expected \(7,\): rows \* slots", indptr=np.array([0, 1, 3])),
    _wrong("short-data", ValueError, r"data has shape \(2,\)", data=np.ones(2, np.float32)),
)


def _moved(call: Call, outs: Outs) -> int:
    """Count the history, the rows of active events, and the sums."""
    active = recent_events(call)
    return around_arrivals(call, outs, active) + rows_of(call.indptr, active, call.data, call.indices)


BENCH = Bench(moved=_moved)
