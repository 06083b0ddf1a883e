"""Inputs, wrong calls and counts that products of a dense matrix with events share."""

from __future__ import annotations

import math

import numpy as np

from event_ops.cases import Arguments, InvalidCall, Rounding, changes_to
from event_ops.cases.bench import Bench, Call, Outs, active_flags, each, size
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.operations import each_term

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

WEIGHTS, EVENTS = 0, 1


@drawn
def with_events(
    draw: Draw,
    shape: Shape,
    rate: float,
    transpose: bool,
    events: str = "bool",
    *,
    n: int | None = None,
    poisoned: bool = False,
) -> Arguments:
    """Return a matrix, and a vector or `n` columns of events.

    poisoned: weights that meet no active event are NaN or infinite.
    """
    weights = draw.numbers(shape)
    neurons = shape[0] if transpose else shape[1]
    extent = (neurons,) if n is None else (neurons, n)
    active = draw.events(math.prod(extent), rate, events).reshape(extent)
    if poisoned:
        meets, silent = (weights if transpose else weights.T), ~active_flags(active, neurons)
        meets[silent] = np.nan
        meets[silent, ::2] = np.inf
    return (weights, active), {"transpose": transpose}


def wrong_calls(n: int | None = None) -> tuple[InvalidCall, ...]:
    """Return wrong calls of a product with a vector, or a matrix of `n` columns, of events."""
    weights = np.ones((2, 3), np.float32)

    def ones(neurons: int, dtype: type = bool) -> np.ndarray:
        return np.ones((neurons,) if n is None else (neurons, n), dtype)

    wrong = changes_to({"weights": weights, "events": ones(3)})
    short, per_row = (
        wrong(events=ones(4), transpose=True),
        "one element per row" if n is None else "one row per row",
    )
    calls = (
        InvalidCall("integer", wrong(weights=weights.astype("i")), TypeError, "weights has dtype int32"),
        InvalidCall("integer-events", wrong(events=ones(3, np.int32)), TypeError, "events has dtype int32"),
        InvalidCall("mixed", wrong(events=ones(3, np.float16)), TypeError, "events has dtype float16"),
        InvalidCall("flat", wrong(weights=weights[0]), ValueError, "weights has 1 dimensions"),
        InvalidCall("orientation", wrong(events=ones(2)), ValueError, "it fits transpose=True"),
        InvalidCall("short", short, ValueError, per_row),
    )
    vector = wrong(events=np.ones(3, bool))
    of_matrix = InvalidCall("vector", vector, ValueError, "events has 1 dim.*call the matvec")
    return calls if n is None else (*calls, of_matrix)


def _ends(call: Call) -> tuple[int, int]:
    """Return the number of neurons that may be active, and of the neurons that they act on."""
    rows, columns = call.weights.shape
    return (rows, columns) if call.transpose else (columns, rows)


def _moved(call: Call, outs: Outs) -> int:
    """Count the events, the outputs, and the rows (or columns) of neurons that are active in any vector."""
    neurons, others = _ends(call)
    met = int(active_flags(call.events, neurons).sum()) * others
    return size(call.events, *outs) + met * each(call.weights)


def _operations(call: Call, outs: Outs) -> int:
    """Count `each_term` for the row (or column) of each active event."""
    return int(np.count_nonzero(call.events)) * _ends(call)[1] * each_term(call.events)


BENCH = Bench(linear=(0, 1), moved=_moved, operations=_operations)
