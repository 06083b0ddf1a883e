"""Cases of `segment_sum`."""

from event_ops.cases import Case, Rounding, segments
from event_ops.cases.bench import Bench
from event_ops.cases.operations import in_segments
from event_ops.cases.segments import clipped_on_threads, ids_out_of_range, random_segments

DTYPES = ("float32", "float64", "complex64", "int32")
ROUNDING = Rounding(0, sums=True)
INVALID_CALLS = segments.INVALID_CALLS

CASES = (
    *(
        Case(name, make, differentiable=(segments.DATA,), tolerance=tolerance)
        for name, make, tolerance in (
            ("random", random_segments(50, 20), 5),
            ("sorted", random_segments(50, 20, ascending=True), 5),
            ("rows", random_segments(25, 6, (3,)), 5),
            ("edges", ids_out_of_range("drop"), 5),
            ("edges-clipped", ids_out_of_range("clip", (2, 2)), 5),
            ("no-data", random_segments(0, 4), 1),
            ("no-segments", random_segments(4, 0), 1),
            ("threads", random_segments(70_000, 900), 200),
            ("threads-sorted", random_segments(40_000, 300, (2,), ascending=True), 500),
        )
    ),
    Case("threads-clipped", clipped_on_threads(), tolerance=20_000, note="one sum of 30,000 terms"),
    *segments.BENCHMARKS,
)


BENCH = Bench(linear=(0,), operations=in_segments)
