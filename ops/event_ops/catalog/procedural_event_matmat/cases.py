"""Cases of `procedural_event_matmat`."""

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
    n: int,
    events: str = "bool",
    rate: float = 0.3,
) -> Arguments:
    weight = draw.numbers(() if distribution == "constant" else 2)
    size = shape[0] if transpose else shape[1]
    active = draw.events(size * n, rate, events).reshape(size, n)
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
            ("random-float", _random((17, 23), 0.2, "uniform", False, 5, "float")),
            ("constant-transposed", _random((17, 23), 0.2, "constant", True, 3)),
            ("normal-float-transposed", _random((17, 23), 0.2, "normal", True, 35, "float")),
            ("wide", _random((6, 40), 0.3, "constant", False, 40)),
            ("no-rows", _random((0, 4), 0.5, "constant", True, 3)),
            ("no-vectors", _random((5, 4), 0.5, "constant", False, 0)),
            ("threads", _random((60, 1000), 0.15, "constant", False, 3)),
            ("threads-transposed", _random((1000, 60), 0.15, "constant", True, 3, rate=0.9)),
        )
    ),
    *(
        benchmark(
            f"{size}-{per_row}-n{n}-{rate:.2%}{'-transposed' * transpose}",
            _random((size, size), per_row / size, "constant", transpose, n, rate=rate),
            tolerance=20,
        )
        for size, per_row, n, rate in ((1000, 50, 16, 0.01), (50_000, 100, 32, 0.01))
        for transpose in (False, True)
    ),
)

_wrong = changes_to(
    {"weight": np.float32(1), "seed": np.uint32(1), "events": np.ones((4, 3), bool)}, prob=0.5, shape=(2, 4)
)

INVALID_CALLS = (
    InvalidCall("half", _wrong(weight=np.float16(1)), TypeError, "float16.*32 or 64 bits"),
    InvalidCall(
        "integer-events", _wrong(events=np.ones((4, 3), np.int32)), TypeError, "events has dtype int"
    ),
    InvalidCall(
        "mixed",
        _wrong(weight=np.ones(2, np.int32), distribution="uniform"),
        TypeError,
        "weight has dtype int32",
    ),
    InvalidCall("seeds", _wrong(seed=np.ones(1, np.int32)), ValueError, r"seed has shape \(1,\)"),
    InvalidCall("negative-prob", _wrong(prob=-0.1), ValueError, "prob is -0.1"),
    InvalidCall("vector", _wrong(events=np.ones(4, bool)), ValueError, "events has 1 dim.*call the matvec"),
    InvalidCall("orientation", _wrong(events=np.ones((2, 3), bool)), ValueError, "it fits transpose=True"),
    InvalidCall("short-events", _wrong(events=np.ones((3, 4), bool)), ValueError, "one row per column"),
)


def _operations(call: Call, outs: Outs) -> int:
    """Count what each active event does with its entries, beside what generates these once."""
    active, events = np.count_nonzero(call.events.any(axis=1)), np.count_nonzero(call.events)
    others = outs[0].shape[0]
    return generated_product(call, int(active), 0) + round(
        call.prob * events * others * each_term(call.events)
    )


BENCH = Bench(operations=_operations)
