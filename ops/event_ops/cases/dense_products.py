"""Cases of products of a dense matrix with events."""

import math
from functools import partial

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, OperatorCases, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, Call, Outs, active_flags, each, size
from event_ops.cases.draw import Draw, Shape, drawn, stored_as

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

WEIGHTS, EVENTS = 0, 1


@drawn
def _with_events(
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


def _wrong_calls(n: int | None = None) -> tuple[InvalidCall, ...]:
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


def _moved(call: Call, outs: Outs) -> int:
    """Count the events, the outputs, and the rows (or columns) of neurons that are active in any vector."""
    rows, columns = call.weights.shape
    neurons, others = (rows, columns) if call.transpose else (columns, rows)
    met = int(active_flags(call.events, neurons).sum()) * others
    return size(call.events, *outs) + met * each(call.weights)


_summed = partial(Case, tolerance=20)
_in_weights = partial(_summed, differentiable=(WEIGHTS,))
_in_both = partial(_summed, differentiable=(WEIGHTS, EVENTS))
_BENCH = Bench(linear=(0, 1), moved=_moved)

dense_event_matvec = OperatorCases(
    DTYPES,
    (
        _in_weights("random", _with_events((17, 23), 0.4, False)),
        _in_both("random-transposed-float", _with_events((17, 23), 0.4, True, "float")),
        _in_both("few-float", _with_events((9, 60), 0.06, False, "float")),
        _summed("poisoned", _with_events((11, 40), 0.5, False, poisoned=True)),
        _summed("poisoned-transposed", _with_events((40, 11), 0.5, True, poisoned=True)),
        Case("no-columns", _with_events((4, 0), 1, False)),
        # Sums of 200 terms, and of 175.
        Case("threads-transposed", _with_events((300, 250), 0.7, True), tolerance=200),
        Case("threads", _with_events((300, 250), 0.7, False), tolerance=200),
        _summed("float16", stored_as("float16", WEIGHTS, _with_events((17, 23), 0.4, False))),
        _summed("bfloat16", stored_as("bfloat16", WEIGHTS, _with_events((17, 23), 0.4, False))),
        _summed("bfloat16-transposed", stored_as("bfloat16", WEIGHTS, _with_events((17, 23), 0.4, True))),
        _summed("bfloat16-few", stored_as("bfloat16", WEIGHTS, _with_events((9, 60), 0.06, False, "float"))),
        *(
            benchmark(
                f"{size}-{rate:.0%}{'-transposed' * transpose}",
                _with_events((size, size), rate, transpose),
                tolerance=200,
            )
            for size, rate in ((400, 0.01), (1500, 0.01), (4000, 0.01), (4000, 1.0))
            for transpose in (True, False)
        ),
    ),
    _wrong_calls(),
    ROUNDING,
    _BENCH,
)

dense_event_matmat = OperatorCases(
    DTYPES,
    (
        _in_weights("random", _with_events((17, 23), 0.4, False, n=5)),
        _in_both("random-transposed-float", _with_events((17, 23), 0.4, True, "float", n=9)),
        _in_weights("random-transposed", _with_events((7, 5), 0.4, True, n=3)),
        _in_both("few-float", _with_events((9, 60), 0.04, False, "float", n=35)),
        _summed("poisoned", _with_events((11, 40), 0.2, False, poisoned=True, n=3)),
        _summed("poisoned-transposed", _with_events((40, 11), 0.2, True, poisoned=True, n=3)),
        Case("no-columns", _with_events((4, 0), 1, False, n=3)),
        Case("no-vectors", _with_events((4, 5), 1, True, n=0)),
        Case("threads-transposed", _with_events((300, 250), 0.7, True, n=36), tolerance=200),
        Case("threads", _with_events((300, 250), 0.7, False, n=36), tolerance=200),
        _summed("float16", stored_as("float16", WEIGHTS, _with_events((17, 23), 0.4, False, n=5))),
        _summed("bfloat16", stored_as("bfloat16", WEIGHTS, _with_events((17, 23), 0.4, True, "float", n=9))),
        *(
            benchmark(
                f"{size}-n{n}-{rate:.0%}{'-transposed' * transpose}",
                _with_events((size, size), rate, transpose, n=n),
                tolerance=200,
            )
            for size, n, rate in ((400, 16, 0.01), (4000, 32, 0.01), (4000, 32, 0.1))
            for transpose in (True, False)
        ),
    ),
    _wrong_calls(4),
    ROUNDING,
    _BENCH,
)
