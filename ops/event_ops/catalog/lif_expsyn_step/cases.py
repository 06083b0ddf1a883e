"""Cases of `lif_expsyn_step`."""

from typing import Any

import numpy as np

from event_ops.cases import Case, Rounding
from event_ops.cases.bench import Bench
from event_ops.cases.neurons import Population, held, neurons, normal, uniform, with_array
from event_ops.surrogate import fast_sigmoid

DTYPES = ("float32", "float64")
ROUNDING = Rounding(4)

V_M, I_SYN = 0, 2
MOVING = V_M, I_SYN

# The neuron of the cortical microcircuit (Potjans and Diesmann 2014); currents in pA, hence GOhm.
NEURON: dict[str, Any] = {
    "tau_m": 10.0,
    "tau_syn": 0.5,
    "E_L": -65.0,
    "V_th": -50.0,
    "V_reset": -65.0,
    "t_ref": 2.0,
    "dt": 0.1,
    "R_m": 0.04,
    "I_e": 20.0,
}
POPULATION = Population(NEURON, {"V_m": uniform(-65, -49.9), "refractory": held(20), "I_syn": normal(0, 300)})

CASES = (
    *POPULATION.cases(MOVING, 70_000, {"V_th": -55.0, "surrogate": fast_sigmoid()}),
    Case("one-tau", POPULATION.random(33, tau_syn=10.0), differentiable=MOVING),
    Case("jump", with_array(POPULATION.random(33), "jump", 5), differentiable=MOVING),
    # At the threshold, near it, held above it, and NaN; one current is infinite.
    Case(
        "threshold",
        neurons(
            NEURON | {"E_L": -50.0, "I_e": 0.0},
            [-50, -49.9, -50.1, -40, np.nan, -60],
            [0, 0, 0, 0.1, 0, 0],
            [0, 0, 0, 0, 0, np.inf],
        ),
    ),
)

INVALID_CALLS = (
    *POPULATION.invalid_calls(
        mixed="I_syn", short=("refractory", "jump", "V_th", "R_m"), positive=("tau_m", "tau_syn", "dt")
    ),
    POPULATION.wrong("one-I", ValueError, r"I_syn has shape \(\)", I_syn=np.zeros((), "f")),
)

BENCH = Bench(carried={0: 0, 1: 1, 2: 2})
