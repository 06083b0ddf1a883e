"""Cases of `dense_event_matmat`."""

from __future__ import annotations

from event_ops.cases import Case, benchmark
from event_ops.cases.dense import BENCH as BENCH
from event_ops.cases.dense import DTYPES as DTYPES
from event_ops.cases.dense import EVENTS, WEIGHTS, with_events, wrong_calls
from event_ops.cases.dense import ROUNDING as ROUNDING
from event_ops.cases.float16_storage import stored_as

CASES = (
    Case("random", with_events((17, 23), 0.4, False, n=5), differentiable=(WEIGHTS,), tolerance=20),
    Case(
        "random-transposed-float",
        with_events((17, 23), 0.4, True, "float", n=9),
        differentiable=(WEIGHTS, EVENTS),
        tolerance=20,
    ),
    Case("random-transposed", with_events((7, 5), 0.4, True, n=3), differentiable=(WEIGHTS,), tolerance=20),
    Case(
        "few-float",
        with_events((9, 60), 0.04, False, "float", n=35),
        differentiable=(WEIGHTS, EVENTS),
        tolerance=20,
    ),
    Case("poisoned", with_events((11, 40), 0.2, False, poisoned=True, n=3), tolerance=20),
    Case("poisoned-transposed", with_events((40, 11), 0.2, True, poisoned=True, n=3), tolerance=20),
    Case("no-columns", with_events((4, 0), 1, False, n=3)),
    Case("no-vectors", with_events((4, 5), 1, True, n=0)),
    Case(
        "threads-transposed", with_events((300, 250), 0.7, True, n=3), tolerance=200, note="sums of 200 terms"
    ),
    Case("threads", with_events((300, 250), 0.7, False, n=3), tolerance=200, note="sums of 175 terms"),
    Case("float16", stored_as("float16", WEIGHTS, with_events((17, 23), 0.4, False, n=5)), tolerance=20),
    Case(
        "bfloat16",
        stored_as("bfloat16", WEIGHTS, with_events((17, 23), 0.4, True, "float", n=9)),
        tolerance=20,
    ),
    *(
        benchmark(
            f"{size}-n{n}-{rate:.0%}{'-transposed' * transpose}",
            with_events((size, size), rate, transpose, n=n),
            tolerance=200,
        )
        for size, n, rate in ((400, 16, 0.01), (4000, 32, 0.01), (4000, 32, 0.1))
        for transpose in (True, False)
    ),
)

INVALID_CALLS = wrong_calls(4)
