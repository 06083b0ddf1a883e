"""Cases of `csr_scale_rows`."""

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, Call, Outs, entries_of, size
from event_ops.cases.draw import Draw, Shape, drawn

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)  # sums of one term

DATA, X = 0, 2


@drawn
def _random(draw: Draw, shape: Shape, nse: int, events: bool = False) -> Arguments:
    data, _, indptr = draw.csr(shape, nse)
    return (data, indptr, draw.events(shape[0], 0.3) if events else draw.numbers(shape[0])), {}


@drawn
def _hidden(draw: Draw) -> Arguments:
    """Return NaN as the weights of silent rows."""
    (data, indptr, active), kwargs = _random((6, 7), 25, True)(*draw)
    data[np.repeat(~active, np.diff(indptr))] = np.nan
    return (data, indptr, active), kwargs


@drawn
def _loose_ends(draw: Draw) -> Arguments:
    """Return an infinite factor, and an indptr that spans only some of the entries."""
    (data, _, x), kwargs = _random((4, 6), 20)(*draw)
    x[1] = np.inf
    return (data, np.array([3, 7, 12, 12, 17], draw.index_dtype), x), kwargs


@drawn
def _sized(draw: Draw, size: int, per_row: int) -> Arguments:
    data, _, indptr = draw.fixed_degree_csr((size, size), per_row)
    return (data, indptr, draw.numbers(size)), {}


CASES = (
    Case("random", _random((17, 23), 120), differentiable=(DATA, X), tolerance=5),
    Case("events", _random((17, 23), 120, True), differentiable=(DATA,)),
    Case("hidden", _hidden()),
    Case("loose-ends", _loose_ends()),
    Case("no-rows", _random((0, 4), 3), differentiable=(DATA, X)),
    Case("no-entries", _random((5, 4), 0), differentiable=(DATA, X)),
    Case("threads", _random((700, 500), 40_000), differentiable=(DATA, X), tolerance=20),
    benchmark("4000-80", _sized(4000, 80)),
    benchmark("100000-100", _sized(100_000, 100)),
)

_wrong = changes_to(
    {"data": np.ones(3, np.float32), "indptr": np.array([0, 1, 3], np.int32), "x": np.ones(2, np.float32)}
)

INVALID_CALLS = (
    _wrong("half", TypeError, "data has dtype float16.*32 or 64 bits", data=np.ones(3, "e")),
    _wrong("mixed", TypeError, "x has dtype int32 and data", x=np.ones(2, np.int32)),
    _wrong(
        "events-of-integers",
        TypeError,
        "data has dtype int32; expected float32 or float64",
        data=np.ones(3, "i"),
        x=np.ones(2, bool),
    ),
    _wrong("float-indptr", TypeError, "indptr has dtype", indptr=np.zeros(3, "f")),
    _wrong("one-weight", ValueError, "data has 0 dimensions.*give ones", data=np.float32(1)),
    _wrong("short-x", ValueError, r"x has shape \(3,\); expected \(2,\): one elem", x=np.ones(3, "f")),
)


def _moved(call: Call, outs: Outs) -> int:
    """Count the row pointer, x and the output, and the weights of rows that are not silent."""
    read = call.x if call.x.dtype == bool else np.ones(call.x.size, bool)
    return size(call.indptr, call.x, *outs) + entries_of(call.indptr, read) * call.data.itemsize


BENCH = Bench(linear=(0, 2), moved=_moved)
