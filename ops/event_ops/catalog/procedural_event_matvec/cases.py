"""Cases of `procedural_event_matvec`."""

from __future__ import annotations

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, Call, Outs
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.operations import each_term, generated_product

DTYPES = ("float32", "float64")
ROUNDING = Rounding(100)  # for sums of up to two hundred terms, whose weights are rounded, too

WEIGHT, EVENTS = 0, 2


@drawn
def _random(
    draw: Draw,
    shape: Shape,
    prob: float,
    distribution: str,
    transpose: bool,
    events: str = "bool",
    rate: float = 0.3,
) -> Arguments:
    weight = draw.numbers(() if distribution == "constant" else 2)
    size = shape[0] if transpose else shape[1]
    active = draw.events(size, rate, events)
    static = {"prob": prob, "shape": shape, "distribution": distribution, "transpose": transpose}
    return (weight, np.uint32(77), active), static


CASES = (
    *(
        Case(
            name,
            make,
            differentiable=(WEIGHT, EVENTS) if "float" in name else (WEIGHT,),
            tolerance=20,
            note="sums of up to two hundred terms",
        )
        for name, make in (
            ("random-float", _random((17, 23), 0.2, "uniform", False, "float")),
            ("constant-transposed", _random((17, 23), 0.2, "constant", True)),
            ("normal-float-transposed", _random((17, 23), 0.2, "normal", True, "float")),
            ("no-rows", _random((0, 4), 0.5, "constant", True)),
            ("threads", _random((60, 1000), 0.15, "constant", False)),
            ("threads-transposed", _random((1000, 60), 0.15, "constant", True, rate=0.9)),
        )
    ),
    *(
        benchmark(
            f"{size}-{per_row}-{rate:.2%}",
            _random((size, size), per_row / size, "constant", True, rate=rate),
            tolerance=20,
        )
        for size, per_row, rate in ((4000, 80, 0.01), (100_000, 100, 0.001), (100_000, 100, 0.01))
    ),
)

_wrong = changes_to(
    {"weight": np.float32(1), "seed": np.uint32(1), "events": np.ones(4, bool)}, prob=0.5, shape=(2, 4)
)

INVALID_CALLS = (
    InvalidCall("half", _wrong(weight=np.float16(1)), TypeError, "float16.*32 or 64 bits"),
    InvalidCall("integer-events", _wrong(events=np.ones(4, np.int32)), TypeError, "events has dtype int"),
    InvalidCall(
        "mixed",
        _wrong(weight=np.ones(2, np.int32), distribution="uniform"),
        TypeError,
        "weight has dtype int32",
    ),
    InvalidCall("seeds", _wrong(seed=np.ones(1, np.int32)), ValueError, r"seed has shape \(1,\)"),
    InvalidCall("negative-prob", _wrong(prob=-0.1), ValueError, "prob is -0.1"),
    InvalidCall("orientation", _wrong(events=np.ones(2, bool)), ValueError, "it fits transpose=True"),
    InvalidCall("short-events", _wrong(events=np.ones(3, bool)), ValueError, "one element per column"),
)


def _operations(call: Call, outs: Outs) -> int:
    """Count what each active event does with its entries, beside what generates them."""
    return generated_product(call, int(np.count_nonzero(call.events)), each_term(call.events))


BENCH = Bench(operations=_operations)
