"""Cases of `dense_event_matmat`."""

from __future__ import annotations

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, Call, Outs, active_flags, each, size
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.float16_storage import stored_as
from event_ops.cases.operations import each_term

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

WEIGHTS, EVENTS = 0, 1


@drawn
def _random(
    draw: Draw,
    shape: Shape,
    n: int,
    rate: float,
    transpose: bool,
    events: str = "bool",
    poisoned: bool = False,
) -> Arguments:
    """Return random arrays; `poisoned`: weights that meet no active event are NaN or inf."""
    weights = draw.numbers(shape)
    size = shape[0] if transpose else shape[1]
    active = draw.events(size * n, rate, events).reshape(size, n)
    if poisoned:
        meets, silent = (weights if transpose else weights.T), ~active.any(axis=1)
        meets[silent] = np.nan
        meets[silent, ::2] = np.inf
    return (weights, active), {"transpose": transpose}


CASES = (
    Case("random", _random((17, 23), 5, 0.4, False), differentiable=(WEIGHTS,), tolerance=20),
    Case(
        "random-transposed-float",
        _random((17, 23), 9, 0.4, True, "float"),
        differentiable=(WEIGHTS, EVENTS),
        tolerance=20,
    ),
    Case("random-transposed", _random((7, 5), 3, 0.4, True), differentiable=(WEIGHTS,), tolerance=20),
    Case(
        "few-float",
        _random((9, 60), 35, 0.04, False, "float"),
        differentiable=(WEIGHTS, EVENTS),
        tolerance=20,
    ),
    Case("poisoned", _random((11, 40), 3, 0.2, False, poisoned=True), tolerance=20),
    Case("poisoned-transposed", _random((40, 11), 3, 0.2, True, poisoned=True), tolerance=20),
    Case("no-columns", _random((4, 0), 3, 1, False)),
    Case("no-vectors", _random((4, 5), 0, 1, True)),
    Case("threads-transposed", _random((300, 250), 3, 0.7, True), tolerance=200, note="sums of 200 terms"),
    Case("threads", _random((300, 250), 3, 0.7, False), tolerance=200, note="sums of 175 terms"),
    Case("float16", stored_as("float16", WEIGHTS, _random((17, 23), 5, 0.4, False)), tolerance=20),
    Case("bfloat16", stored_as("bfloat16", WEIGHTS, _random((17, 23), 9, 0.4, True, "float")), tolerance=20),
    *(
        benchmark(
            f"{size}-n{n}-{rate:.0%}{'-transposed' * transpose}",
            _random((size, size), n, rate, transpose),
            tolerance=200,
        )
        for size, n, rate in ((400, 16, 0.01), (4000, 32, 0.01), (4000, 32, 0.1))
        for transpose in (True, False)
    ),
)

_W = np.ones((2, 3), np.float32)
_wrong = changes_to({"weights": _W, "events": np.ones((3, 4), bool)})

INVALID_CALLS = (
    InvalidCall("integer", _wrong(weights=_W.astype(np.int32)), TypeError, "weights has dtype int32"),
    InvalidCall(
        "integer-events", _wrong(events=np.ones((3, 4), np.int32)), TypeError, "events has dtype int32"
    ),
    InvalidCall("mixed", _wrong(events=np.ones((3, 4), np.float16)), TypeError, "events has dtype float16"),
    InvalidCall("flat", _wrong(weights=_W[0]), ValueError, "weights has 1 dimensions"),
    InvalidCall("vector", _wrong(events=np.ones(3, bool)), ValueError, "events has 1 dim.*call the matvec"),
    InvalidCall("orientation", _wrong(events=np.ones((2, 4), bool)), ValueError, "it fits transpose=True"),
    InvalidCall("short", _wrong(events=np.ones((4, 2), bool), transpose=True), ValueError, "one row per row"),
)


def _moved(call: Call, outs: Outs) -> int:
    """Count the events, the outputs, and the rows (or columns) of neurons that are active in any vector."""
    neurons, others = _ends(call)
    met = int(active_flags(call.events, neurons).sum()) * others
    return size(call.events, *outs) + met * each(call.weights)


def _operations(call: Call, outs: Outs) -> int:
    """Count `each_term` for the row (or column) of each active event."""
    return int(np.count_nonzero(call.events)) * _ends(call)[1] * each_term(call.events)


def _ends(call: Call) -> tuple[int, int]:
    """Return the number of neurons that may be active, and of those that they act on."""
    rows, columns = call.weights.shape
    return (rows, columns) if call.transpose else (columns, rows)


BENCH = Bench(linear=(0, 1), moved=_moved, operations=_operations)
