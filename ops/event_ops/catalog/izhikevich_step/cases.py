"""Cases of `izhikevich_step`."""

from typing import Any

import numpy as np

from event_ops.cases import Case, Rounding
from event_ops.cases.bench import Bench
from event_ops.cases.neurons import Population, neurons, normal, uniform, with_array
from event_ops.surrogate import triangular

DTYPES = ("float32", "float64")
# The terms of the slope are some times as large as V, and cancel.
ROUNDING = Rounding(12)

MOVING = V_M, U_M, I_SYN = 0, 1, 2

# The regular spiking neuron of the source.
REGULAR_SPIKING: dict[str, Any] = {"a": 0.02, "b": 0.2, "c": -65.0, "d": 8.0, "dt": 0.5}
POPULATION = Population(
    REGULAR_SPIKING, {"V_m": uniform(-85, 30), "U_m": uniform(-18, 0), "I_syn": normal(5, 10)}
)

CASES = (
    *POPULATION.cases(MOVING, 140_000, {"surrogate": triangular(width=40.0)}),
    Case("published", POPULATION.random(33, method="published"), differentiable=MOVING),
    Case("each-published", POPULATION.random(33, each=True, method="published"), tolerance=4),
    Case("jump", with_array(POPULATION.random(33), "jump", 5), differentiable=MOVING),
    # They end at the threshold, above it and below it; and NaN.
    Case(
        "threshold",
        neurons(REGULAR_SPIKING | {"V_th": 0.0}, [0, 0, 0, np.nan, 0], 0, [-140, -139, -141, 0, np.inf]),
    ),
)

INVALID_CALLS = (
    *POPULATION.invalid_calls(mixed="I_syn", short=("U_m", "I_syn", "a", "jump"), positive=("dt",)),
    POPULATION.wrong("method", ValueError, "method is 'exact'; expected one of 'euler'", method="exact"),
    POPULATION.wrong("surrogate-class", TypeError, r"call it, triangular\(\)", surrogate=triangular),
)

BENCH = Bench(carried={0: 0, 1: 1})
