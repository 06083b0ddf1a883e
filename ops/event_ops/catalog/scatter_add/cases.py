"""Cases of `scatter_add`."""

from event_ops.cases import Case, Rounding, scatter
from event_ops.cases.bench import Bench
from event_ops.cases.operations import in_target

DTYPES = ("float32", "float64", "complex64", "int32")
ROUNDING = Rounding(0, sums=True)
INVALID_CALLS = scatter.INVALID_CALLS

CASES = (
    *(
        Case(name, make, differentiable=(scatter.TARGET, scatter.UPDATES), tolerance=tolerance)
        for name, make, tolerance in scatter.SHAPES
    ),
    *scatter.BENCHMARKS,
)


BENCH = Bench(carried={0: 0}, linear=(0, 2), operations=in_target)
