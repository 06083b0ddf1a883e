"""Cases of `hh_cond_exp_step`."""

from typing import Any

import numpy as np

from event_ops.cases import Case, Rounding
from event_ops.cases.bench import Bench
from event_ops.cases.neurons import Population, gamma, held, neurons, uniform
from event_ops.surrogate import fast_sigmoid

DTYPES = ("float32", "float64")
# V is moved by large currents of both signs, whose errors four substeps add up.
ROUNDING = Rounding(64)

MOVING = V_M, G_EX, G_IN, ACT_M, INACT_H, ACT_N = 0, 2, 3, 4, 5, 6

# The neuron of the COBAHH network (Brette et al. 2007, benchmark 3).
COBAHH: dict[str, Any] = {
    "tau_syn_ex": 5.0,
    "tau_syn_in": 10.0,
    "E_L": -60.0,
    "g_L": 10.0,
    "C_m": 200.0,
    "E_Na": 50.0,
    "g_Na": 20000.0,
    "E_K": -90.0,
    "g_K": 6000.0,
    "E_ex": 0.0,
    "E_in": -80.0,
    "V_T": -63.0,
    "t_ref": 2.0,
    "dt": 0.1,
}
STATES = {
    "V_m": uniform(-80, 45),
    "refractory": held(20),
    "g_ex": gamma(12),
    "g_in": gamma(66),
    "Act_m": uniform(0, 1),
    "Inact_h": uniform(0, 1),
    "Act_n": uniform(0, 1),
}
POPULATION = Population(COBAHH, STATES, spread=0.05)

CASES = (
    *POPULATION.cases(MOVING, 5000, {"surrogate": fast_sigmoid()}),
    Case("one-substep", POPULATION.random(33, substeps=1), differentiable=MOVING),
    # They fall from above and rise to the threshold, held and not; rates are 0 / 0; and NaN.
    Case(
        "threshold",
        neurons(
            COBAHH,
            [0, 0, -70, -50, -23, -48, np.nan],
            [0, 0.1, 0, 0, 0, 0, 0],
            *(0, 0, 0, 0),
            [1, 1, 0, 0, 0, 0, 0],
        ),
    ),
)

wrong = POPULATION.wrong
INVALID_CALLS = (
    *POPULATION.invalid_calls(mixed="Act_n", short=("refractory", "Inact_h", "g_K"), positive=("C_m",)),
    wrong("no-substep", ValueError, "substeps is 0; expected an integer >= 1", substeps=0),
    wrong("half-substep", TypeError, "substeps is 0.5; expected an integer", substeps=0.5),
)


BENCH = Bench(carried={i: i for i in range(7)})
