"""Cases of `ell_event_matvec`."""

from __future__ import annotations

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, Call, Outs, active_flags, each, met, size
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.float16_storage import stored_as
from event_ops.cases.matrices import ELL_2_4
from event_ops.cases.operations import sparse_event_product

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

DATA, EVENTS = 0, 2


@drawn
def _random(
    draw: Draw,
    shape: Shape,
    per_row: int,
    transpose: bool,
    events: str = "bool",
    homogeneous: bool = False,
    rate: float = 0.3,
    padding: float = 0.2,
) -> Arguments:
    data, indices = draw.ell(shape, per_row, padding)
    size = shape[0] if transpose else shape[1]
    active = draw.events(size, rate, events)
    weights = draw.numbers(()) if homogeneous else data
    return (weights, indices, active), {"shape": shape, "transpose": transpose}


@drawn
def _poisoned(draw: Draw, transpose: bool, per_row: int = 6) -> Arguments:
    """Return NaN as the weights that meet an inactive event, and as those of padding."""
    (data, indices, events), kwargs = _random((9, 9), per_row, transpose)(*draw)
    padding = indices.astype("uint64") >= 9
    met = events[:, None] if transpose else events[np.where(padding, 0, indices)]
    data[padding | ~met] = np.nan
    return (data, indices, events), kwargs


CASES = (
    *(
        Case(
            name,
            make,
            differentiable=(DATA, EVENTS) if "float" in name else (DATA,),
            tolerance=20,
            note="sums of up to a hundred terms, in any order",
        )
        for name, make in (
            ("random-float", _random((17, 23), 7, False, "float")),
            ("random-transposed", _random((17, 23), 7, True)),
            ("random-transposed-float-one", _random((17, 23), 7, True, "float", True)),
            ("one", _random((17, 23), 7, False, "bool", True)),
            ("no-entries", _random((5, 4), 0, True)),
            ("threads", _random((700, 500), 60, False)),
            ("threads-transposed", _random((1100, 300), 1000, True, rate=0.05)),
        )
    ),
    Case("poisoned", _poisoned(False), tolerance=5, note="inactive: exactly 0 whatever the weight"),
    Case("poisoned-transposed", _poisoned(True), tolerance=5),
    Case("poisoned-long-rows", _poisoned(False, 30), tolerance=20),
    Case("float16", stored_as("float16", DATA, _random((17, 23), 7, True)), tolerance=20),
    Case("bfloat16", stored_as("bfloat16", DATA, _random((17, 23), 7, False, "float")), tolerance=20),
    Case("bfloat16-one", stored_as("bfloat16", DATA, _random((17, 23), 7, True, "bool", True)), tolerance=20),
    *(
        benchmark(
            f"{size}-{per_row}-{rate:.2%}{'-gathered' * (not transpose)}",
            _random((size, size), per_row, transpose, rate=rate, padding=0),
            tolerance=20,
        )
        for size, per_row, rate, transpose in (
            (4000, 80, 0.01, True),
            (4000, 80, 0.01, False),
            (100_000, 100, 0.001, True),
            (100_000, 100, 0.01, True),
        )
    ),
)

_wrong = changes_to(ELL_2_4 | {"events": np.ones(4, bool)}, shape=(2, 4))

INVALID_CALLS = (
    InvalidCall("integer", _wrong(data=np.ones((2, 3), np.int32)), TypeError, "data has dtype int32"),
    InvalidCall("integer-events", _wrong(events=np.ones(4, np.int32)), TypeError, "events has dtype int"),
    InvalidCall("short-data", _wrong(data=np.ones((2, 2), "f")), ValueError, r"data has shape \(2, 2\)"),
    InvalidCall("flat", _wrong(indices=np.zeros(6, np.int32)), ValueError, "indices has 1 dim"),
    InvalidCall("rows", _wrong(shape=(3, 4)), ValueError, r"expected \(3, 3\): one row per row of shape"),
    InvalidCall("orientation", _wrong(events=np.ones(2, bool)), ValueError, "it fits transpose=True"),
)


def _moved(call: Call, outs: Outs) -> int:
    """Count active rows; without transpose all indices, and the weights that active events meet."""
    active = active_flags(call.events, call.shape[not call.transpose])
    around = size(call.events, *outs)
    if call.transpose:
        entries = int(active.sum()) * call.indices.shape[1]
        return around + entries * (each(call.data) + each(call.indices))
    return around + size(call.indices) + met(active, call.indices) * each(call.data)


BENCH = Bench(linear=(0, 2), moved=_moved, operations=sparse_event_product)
