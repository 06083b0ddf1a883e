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
    per_row = "one element per row" if n is None else "one row per row"
    calls = (
        wrong("integer", TypeError, "weights has dtype int32", weights=weights.astype("i")),
        wrong("integer-events", TypeError, "events has dtype int32", events=ones(3, np.int32)),
        wrong("mixed", TypeError, "events has dtype float16", events=ones(3, np.float16)),
        wrong("flat", ValueError, "weights has 1 dimensions", weights=weights[0]),
        wrong("orientation", ValueError, "it fits transpose=True", events=ones(2)),
        wrong("short", ValueError, per_row, events=ones(4), transpose=True),
    )
    of_matrix = wrong("vector", ValueError, "events has 1 dim.*call the matvec", events=np.ones(3, bool))
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
