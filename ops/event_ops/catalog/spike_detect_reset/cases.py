"""Cases of `spike_detect_reset`."""

from typing import Any

import numpy as np

from event_ops.cases import EXACT, Arguments, Case
from event_ops.cases.bench import Bench
from event_ops.cases.draw import Draw, drawn
from event_ops.cases.neurons import Population, uniform
from event_ops.surrogate import atan

DTYPES = ("float32", "float64")
ROUNDING = EXACT

V_M = 0

POTENTIALS: dict[str, Any] = {"V_th": -55.0, "V_reset": -70.0}
POPULATION = Population(POTENTIALS, {"V_m": uniform(-75, -50)}, spread=0.04)


@drawn
def _threshold(draw: Draw) -> Arguments:
    """Return potentials at the threshold, just above and just below it, infinite, and NaN."""
    threshold, *sides = np.array([-55, 0, -99], draw.dtype)
    above, below = np.nextafter(threshold, sides)
    return (np.array([-55, above, below, np.inf, -np.inf, np.nan], draw.dtype),), POTENTIALS


CASES = (*POPULATION.cases((V_M,), 600_000, {"surrogate": atan()}), Case("threshold", _threshold()))

INVALID_CALLS = (
    *POPULATION.invalid_calls(short=("V_th", "V_reset")),
    POPULATION.wrong("half", TypeError, "V_m has dtype float16", V_m=np.zeros(3, np.float16)),
)

BENCH = Bench(carried={0: 0})
