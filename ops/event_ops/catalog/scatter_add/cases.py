"""Cases of `scatter_add`."""

from event_ops.cases import Case, Rounding, scatter

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
