"""Cases of the products of an ELLPACK matrix."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from event_ops.cases import (
    Arguments,
    Case,
    InvalidCall,
    OperatorCases,
    Rounding,
    benchmark,
    both_ways,
    changes_to,
)
from event_ops.cases.bench import Bench, Call, Outs, active_flags, each, met, size
from event_ops.cases.draw import Draw, Shape, drawn, stored_as
from event_ops.cases.matrices import ELL_2_4

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

DATA, X = 0, 2  # x is v or events
_LARGE = 100_000, 100_000


@drawn
def _random(
    draw: Draw,
    shape: Shape,
    per_row: int,
    transpose: bool,
    events: str = "",
    homogeneous: bool = False,
    rate: float = 0.3,
    padding: float = 0.2,
) -> Arguments:
    """Return a product with events of this kind, or with numbers if none is named."""
    data, indices = draw.ell(shape, per_row, padding)
    size = shape[0] if transpose else shape[1]
    x = draw.events(size, rate, events) if events else draw.numbers(size)
    return (draw.numbers(()) if homogeneous else data, indices, x), {"shape": shape, "transpose": transpose}


@drawn
def _not_a_number(draw: Draw, transpose: bool) -> Arguments:
    """Return NaN as the weights of padding."""
    (data, indices, v), kwargs = _random((6, 7), 5, transpose, padding=0.3)(*draw)
    data[indices.astype("uint64") >= 7] = np.nan
    return (data, indices, v), kwargs


@drawn
def _poisoned(draw: Draw, transpose: bool, per_row: int = 6) -> Arguments:
    """Return a product whose weights are NaN where they meet an inactive event or are padding."""
    (data, indices, events), kwargs = _random((9, 9), per_row, transpose, "bool")(*draw)
    padding = indices.astype("uint64") >= 9
    met = events[:, None] if transpose else events[np.where(padding, 0, indices)]
    data[padding | ~met] = np.nan
    return (data, indices, events), kwargs


# Sums of up to a hundred terms, in any order.
_summed = partial(Case, tolerance=20)
_in_data = partial(_summed, differentiable=(DATA,))
_in_both = partial(_summed, differentiable=(DATA, X))

_CASES = (
    *both_ways(_in_both, "random", partial(_random, (17, 23), 7)),
    *both_ways(_in_both, "threads", partial(_random, (700, 500), 60)),
    *both_ways(Case, "padding", _not_a_number, tolerance=5),
    Case("no-entries", _random((5, 4), 0, False), differentiable=(DATA, X)),
    Case("no-columns", _random((4, 0), 3, False), differentiable=(DATA, X)),
    Case("float16", stored_as("float16", DATA, _random((17, 23), 7, True)), tolerance=20),
    Case("bfloat16", stored_as("bfloat16", DATA, _random((17, 23), 7, False)), tolerance=20),
    *both_ways(benchmark, "4000-80", partial(_random, (4000, 4000), 80, padding=0), tolerance=20),
    *both_ways(benchmark, "20000-100", partial(_random, (20_000, 20_000), 100, padding=0), tolerance=20),
    *both_ways(benchmark, "100000-100", partial(_random, _LARGE, 100, padding=0), tolerance=20),
)

_EVENT_CASES = (
    _in_both("random-float", _random((17, 23), 7, False, "float")),
    _in_data("random-transposed", _random((17, 23), 7, True, "bool")),
    _in_both("random-transposed-float-one", _random((17, 23), 7, True, "float", True)),
    _in_data("one", _random((17, 23), 7, False, "bool", True)),
    _in_data("no-entries", _random((5, 4), 0, True, "bool")),
    _in_data("threads", _random((700, 500), 60, False, "bool")),
    _in_data("threads-transposed", _random((1100, 300), 1000, True, "bool", rate=0.05)),
    # What is inactive adds exactly 0, whatever the weight.
    *both_ways(Case, "poisoned", _poisoned, tolerance=5),
    _summed("poisoned-long-rows", _poisoned(False, 30)),
    _summed("float16", stored_as("float16", DATA, _random((17, 23), 7, True, "bool"))),
    _summed("bfloat16", stored_as("bfloat16", DATA, _random((17, 23), 7, False, "float"))),
    _summed("bfloat16-one", stored_as("bfloat16", DATA, _random((17, 23), 7, True, "bool", True))),
    benchmark("4000-80-1.00%", _random((4000, 4000), 80, True, "bool", rate=0.01, padding=0), 20),
    benchmark("4000-80-1.00%-gathered", _random((4000, 4000), 80, False, "bool", rate=0.01, padding=0), 20),
    benchmark("100000-100-0.10%", _random(_LARGE, 100, True, "bool", rate=0.001, padding=0), 20),
    benchmark("100000-100-1.00%", _random(_LARGE, 100, True, "bool", rate=0.01, padding=0), 20),
)


def _moved(call: Call, outs: Outs) -> int:
    """Count active rows; without transpose all indices, and the weights that active events meet."""
    active = active_flags(call.events, call.shape[not call.transpose])
    around = size(call.events, *outs)
    if call.transpose:
        entries = int(active.sum()) * call.indices.shape[1]
        return around + entries * (each(call.data) + each(call.indices))
    return around + size(call.indices) + met(active, call.indices) * each(call.data)


def _misshapen(wrong: Callable[..., Any], **short: Any) -> tuple[InvalidCall, ...]:
    """Return calls whose shapes do not fit; `short` is an operand that fits the transpose."""
    return (
        wrong("short-data", ValueError, r"data has shape \(2, 2\)", data=np.ones((2, 2), "f")),
        wrong("flat", ValueError, "indices has 1 dim", indices=np.zeros(6, np.int32)),
        wrong("rows", ValueError, r"expected \(3, 3\): one row per row of shape", shape=(3, 4)),
        wrong("orientation", ValueError, "it fits transpose=True", **short),
    )


_wrong = changes_to(ELL_2_4 | {"v": np.ones(4, np.float32)}, shape=(2, 4))
ell_matvec = OperatorCases(
    DTYPES,
    _CASES,
    (
        _wrong(
            "half",
            TypeError,
            "v has dtype float16; expected float32.*cast",
            data=np.ones((2, 3), np.float16),
            v=np.ones(4, np.float16),
        ),
        _wrong("float-indices", TypeError, "indices has dtype", indices=np.zeros((2, 3), "f")),
        _wrong("mixed", TypeError, "v has dtype int32 and data.*cast", v=np.ones(4, np.int32)),
        _wrong("one-weight", ValueError, "data has 0 dimensions", data=np.float32(1)),
        *_misshapen(_wrong, v=np.ones(2, "f")),
    ),
    ROUNDING,
    Bench(linear=(DATA, X)),
)

_wrong = changes_to(ELL_2_4 | {"events": np.ones(4, bool)}, shape=(2, 4))
ell_event_matvec = OperatorCases(
    DTYPES,
    _EVENT_CASES,
    (
        _wrong("integer", TypeError, "data has dtype int32", data=np.ones((2, 3), np.int32)),
        _wrong("integer-events", TypeError, "events has dtype int", events=np.ones(4, np.int32)),
        *_misshapen(_wrong, events=np.ones(2, bool)),
    ),
    ROUNDING,
    Bench(linear=(DATA, X), moved=_moved),
)
