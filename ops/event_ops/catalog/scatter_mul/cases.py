"""Cases of `scatter_mul`."""

from __future__ import annotations

import numpy as np

from event_ops.cases import Arguments, Case, benchmark, scatter
from event_ops.cases.bench import Bench
from event_ops.cases.draw import Draw, Make, drawn
from event_ops.cases.operations import in_target

DTYPES = ("float32", "float64", "int32")
ROUNDING = None
INVALID_CALLS = (*scatter.INVALID_CALLS, scatter.COMPLEX_TARGET)


@drawn
def _factors(draw: Draw, make: Make) -> Arguments:
    """Return the arguments that `make` draws, with updates whose products stay in the range of the dtype."""
    (target, indices, updates), kwargs = make(*draw)
    if updates.dtype.kind == "f":
        factors = np.copysign(np.exp(updates / 10), updates)
    else:
        factors = np.where(updates > 7, 2, np.where(updates < 0, -1, 1))
    return (target, indices, np.asarray(factors, updates.dtype)), kwargs


CASES = (
    *(
        Case(name, _factors(make), differentiable=(scatter.TARGET, scatter.UPDATES), tolerance=tolerance)
        for name, make, tolerance in scatter.SHAPES
    ),
    *(benchmark(case.name, _factors(case.make), tolerance=50) for case in scatter.BENCHMARKS),
)


BENCH = Bench(linear=(scatter.TARGET,), operations=in_target)
