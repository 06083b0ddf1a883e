"""Cases of `lif_step`."""

from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, Rounding
from event_ops.cases.bench import Bench
from event_ops.cases.draw import Draw, drawn
from event_ops.cases.neurons import Population, held, neurons, normal, uniform, with_array
from event_ops.surrogate import fast_sigmoid

DTYPES = ("float32", "float64")
ROUNDING = Rounding(4)

V_M, I_SYN = 0, 2
MOVING = V_M, I_SYN

# The CUBA network's neuron (Brette et al. 2007, benchmark 2).
CUBA: dict[str, Any] = {"tau_m": 20.0, "E_L": -49.0, "V_th": -50.0, "V_reset": -60.0, "t_ref": 5.0, "dt": 0.1}
POPULATION = Population(CUBA, {"V_m": uniform(-60, -49.9), "refractory": held(50), "I_syn": normal(0, 20)})


@drawn
def _constant_current(draw: Draw) -> Arguments:
    (V, left, _), parameters = POPULATION.random(30)(*draw)
    return (V, left, np.asarray(15, draw.dtype)), parameters


CASES = (
    *POPULATION.cases(MOVING, 140_000, {"V_th": -55.0, "surrogate": fast_sigmoid()}),
    Case("euler", POPULATION.random(33, method="euler"), differentiable=MOVING),
    Case("each-euler", POPULATION.random(33, each=True, method="euler"), tolerance=4),
    Case("constant-current", _constant_current(), differentiable=MOVING),
    Case("jump", with_array(POPULATION.random(33), "jump", 5), differentiable=MOVING),
    # At the threshold, just above and just below it, held above it, and NaN.
    Case("threshold", neurons(CUBA, [-50, -49.9, -50.1, -40, np.nan], [0, 0, 0, 0.1, 0], -1)),
)

INVALID_CALLS = (
    *POPULATION.invalid_calls(
        mixed="I_syn", short=("refractory", "I_syn", "jump", "V_th"), positive=("tau_m", "dt")
    ),
    POPULATION.wrong("method", ValueError, "method is 'rk4'; expected one of 'exact'", method="rk4"),
)

BENCH = Bench(carried={0: 0, 1: 1})
