"""Cases of `alif_step`."""

from typing import Any

import numpy as np

from event_ops.cases import Case, Rounding
from event_ops.cases.bench import Bench
from event_ops.cases.neurons import Population, held, neurons, normal, uniform, with_array
from event_ops.surrogate import triangular

DTYPES = ("float32", "float64")
ROUNDING = Rounding(4)

V_M, ADAPTATION, I_SYN = 0, 2, 3
MOVING = V_M, ADAPTATION, I_SYN

# A cortical neuron whose threshold stays up for some tenths of a second.
ADAPTIVE: dict[str, Any] = {
    "tau_m": 20.0,
    "tau_a": 200.0,
    "beta": 1.6,
    "E_L": -65.0,
    "V_th": -50.0,
    "V_reset": -60.0,
    "t_ref": 5.0,
    "dt": 0.1,
}
STATES = {"V_m": uniform(-60, -46), "refractory": held(50), "a": uniform(0, 4), "I_syn": normal(0, 20)}
POPULATION = Population(ADAPTIVE, STATES, spread=0.05)

CASES = (
    *POPULATION.cases(MOVING, 140_000, {"surrogate": triangular(width=5.0)}),
    Case("each-euler", POPULATION.random((4, 5), each=True, method="euler"), tolerance=4),
    Case("jump", with_array(POPULATION.random(33), "jump", 5), differentiable=MOVING),
    # Above V_th, with and without adaptation, held and not; and NaN.
    Case(
        "threshold",
        neurons(
            ADAPTIVE, [-49, -49, -49, -48, np.nan, -49], [0, 0, 0.1, 0, 0, 0], [0, 1, 0, 1, 0, np.nan], 15
        ),
    ),
)

INVALID_CALLS = (
    *POPULATION.invalid_calls(mixed="a", short=("jump", "a", "beta"), positive=("tau_a",)),
    POPULATION.wrong("method", ValueError, "method is 'rk4'; expected one of 'exact'", method="rk4"),
    POPULATION.wrong("surrogate-class", TypeError, r"call it, triangular\(\)", surrogate=triangular),
)

BENCH = Bench(carried={0: 0, 1: 1, 2: 2})
