"""Cases of `segment_max`."""

from event_ops.cases import EXACT
from event_ops.cases.bench import Bench
from event_ops.cases.operations import in_segments
from event_ops.cases.segments import COMPLEX_DATA, EXTREMA
from event_ops.cases.segments import INVALID_CALLS as COMMON_MISTAKES

DTYPES = ("float32", "float64", "int32", "int8")
ROUNDING = EXACT
CASES = EXTREMA
INVALID_CALLS = (*COMMON_MISTAKES, COMPLEX_DATA)


BENCH = Bench(operations=in_segments)
