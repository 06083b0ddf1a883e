"""Cases of `scatter_min`."""

from event_ops.cases import EXACT, scatter
from event_ops.cases.bench import Bench
from event_ops.cases.operations import in_target

DTYPES = ("float32", "float64", "int32", "int8")
ROUNDING = EXACT
CASES = scatter.EXTREMA
INVALID_CALLS = (*scatter.INVALID_CALLS, scatter.COMPLEX_TARGET)


BENCH = Bench(operations=in_target)
