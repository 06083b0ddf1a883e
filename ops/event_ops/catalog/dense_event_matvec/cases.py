"""Cases of `dense_event_matvec`."""

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
    draw: Draw, shape: Shape, rate: float, transpose: bool, events: str = "bool", poisoned: bool = False
) -> Arguments:
    """Return random arrays; `poisoned`: weights that meet an inactive event are NaN or inf."""
    weights = draw.numbers(shape)
    size = shape[0] if transpose else shape[1]
    active = draw.events(size, rate, events)
    if poisoned:
        meets = weights if transpose else weights.T
        meets[active == 0] = np.nan
        meets[active == 0, ::2] = np.inf
    return (weights, active), {"transpose": transpose}


CASES = (
    Case("random", _random((17, 23), 0.4, False), differentiable=(WEIGHTS,), tolerance=20),
    Case(
        "random-transposed-float",
        _random((17, 23), 0.4, True, "float"),
        differentiable=(WEIGHTS, EVENTS),
        tolerance=20,
    ),
    Case("few-float", _random((9, 60), 0.06, False, "float"), differentiable=(WEIGHTS, EVENTS), tolerance=20),
    Case("poisoned", _random((11, 40), 0.5, False, poisoned=True), tolerance=20),
    Case("poisoned-transposed", _random((40, 11), 0.5, True, poisoned=True), tolerance=20),
    Case("no-columns", _random((4, 0), 1, False)),
    Case("threads-transposed", _random((300, 250), 0.7, True), tolerance=200, note="sums of 200 terms"),
    Case("threads", _random((300, 250), 0.7, False), tolerance=200, note="sums of 175 terms"),
    *(
        Case(
            f"{half}{'-transposed' * transpose}",
            stored_as(half, WEIGHTS, _random((17, 23), 0.4, transpose)),
            tolerance=20,
        )
        for half, transpose in (("float16", False), ("bfloat16", False), ("bfloat16", True))
    ),
    Case(
        "bfloat16-few", stored_as("bfloat16", WEIGHTS, _random((9, 60), 0.06, False, "float")), tolerance=20
    ),
    *(
        benchmark(
            f"{size}-{rate:.0%}{'-transposed' * transpose}",
            _random((size, size), rate, transpose),
            tolerance=200,
        )
        for size, rate in ((400, 0.01), (1500, 0.01), (4000, 0.01), (4000, 1.0))
        for transpose in (True, False)
    ),
)

_W = np.ones((2, 3), np.float32)
_wrong = changes_to({"weights": _W, "events": np.ones(3, bool)})

INVALID_CALLS = (
    InvalidCall("integer", _wrong(weights=_W.astype(np.int32)), TypeError, "weights has dtype int32"),
    InvalidCall("integer-events", _wrong(events=np.ones(3, np.int32)), TypeError, "events has dtype int32"),
    InvalidCall("mixed", _wrong(events=np.ones(3, np.float16)), TypeError, "events has dtype float16"),
    InvalidCall("flat", _wrong(weights=_W[0]), ValueError, "weights has 1 dimensions"),
    InvalidCall("orientation", _wrong(events=np.ones(2, bool)), ValueError, "it fits transpose=True"),
    InvalidCall("short", _wrong(events=np.ones(4, bool), transpose=True), ValueError, "one element per row"),
)


def _moved(call: Call, outs: Outs) -> int:
    """Count the events, the outputs, and the rows (or columns) of active events."""
    return size(call.events, *outs) + _weights_met(call) * each(call.weights)


def _operations(call: Call, outs: Outs) -> int:
    """Count `each_term` for the rows (or columns) of active events."""
    return _weights_met(call) * each_term(call.events)


def _weights_met(call: Call) -> int:
    """Count the weights in the rows (or columns) of active events."""
    rows, columns = call.weights.shape
    neurons, others = (rows, columns) if call.transpose else (columns, rows)
    return int(active_flags(call.events, neurons).sum()) * others


BENCH = Bench(linear=(0, 1), moved=_moved, operations=_operations)
