"""Cases of `dense_event_matvec`."""

from __future__ import annotations

from event_ops.cases import Case, benchmark
from event_ops.cases.dense import BENCH as BENCH
from event_ops.cases.dense import DTYPES as DTYPES
from event_ops.cases.dense import EVENTS, WEIGHTS, with_events, wrong_calls
from event_ops.cases.dense import ROUNDING as ROUNDING
from event_ops.cases.float16_storage import stored_as

CASES = (
    Case("random", with_events((17, 23), 0.4, False), differentiable=(WEIGHTS,), tolerance=20),
    Case(
        "random-transposed-float",
        with_events((17, 23), 0.4, True, "float"),
        differentiable=(WEIGHTS, EVENTS),
        tolerance=20,
    ),
    Case(
        "few-float",
        with_events((9, 60), 0.06, False, "float"),
        differentiable=(WEIGHTS, EVENTS),
        tolerance=20,
    ),
    Case("poisoned", with_events((11, 40), 0.5, False, poisoned=True), tolerance=20),
    Case("poisoned-transposed", with_events((40, 11), 0.5, True, poisoned=True), tolerance=20),
    Case("no-columns", with_events((4, 0), 1, False)),
    Case("threads-transposed", with_events((300, 250), 0.7, True), tolerance=200, note="sums of 200 terms"),
    Case("threads", with_events((300, 250), 0.7, False), tolerance=200, note="sums of 175 terms"),
    *(
        Case(
            f"{half}{'-transposed' * transpose}",
            stored_as(half, WEIGHTS, with_events((17, 23), 0.4, transpose)),
            tolerance=20,
        )
        for half, transpose in (("float16", False), ("bfloat16", False), ("bfloat16", True))
    ),
    Case(
        "bfloat16-few",
        stored_as("bfloat16", WEIGHTS, with_events((9, 60), 0.06, False, "float")),
        tolerance=20,
    ),
    *(
        benchmark(
            f"{size}-{rate:.0%}{'-transposed' * transpose}",
            with_events((size, size), rate, transpose),
            tolerance=200,
        )
        for size, rate in ((400, 0.01), (1500, 0.01), (4000, 0.01), (4000, 1.0))
        for transpose in (True, False)
    ),
)

INVALID_CALLS = wrong_calls()
