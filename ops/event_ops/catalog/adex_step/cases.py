"""Cases of `adex_step`."""

from typing import Any

import numpy as np

from event_ops.cases import Case, Rounding
from event_ops.cases.bench import Bench
from event_ops.cases.neurons import Population, gamma, held, neurons, with_array
from event_ops.surrogate import triangular

DTYPES = ("float32", "float64")
# The upstroke makes the rounding errors of ten substeps grow.
ROUNDING = Rounding(64)

MOVING = V_M, G_EX, G_IN, W = 0, 2, 3, 4

# The neuron of Brette and Gerstner (2005), with fast synapses.
ADAPTIVE: dict[str, Any] = {
    "tau_syn_ex": 0.5,
    "tau_syn_in": 2.0,
    "tau_w": 144.0,
    "a": 4.0,
    "b": 80.5,
    "E_L": -70.6,
    "g_L": 30.0,
    "C_m": 281.0,
    "E_ex": 0.0,
    "E_in": -85.0,
    "Delta_T": 2.0,
    "V_th": -50.4,
    "V_peak": 0.0,
    "V_reset": -60.0,
    "t_ref": 2.0,
    "dt": 0.1,
}


def _below_peak(rng: np.random.Generator, size: Any) -> np.ndarray:
    """Return potentials of which a fifth is on the upstroke."""
    V = rng.uniform(-75, -48, size)
    return np.where(rng.random(size) < 0.2, rng.uniform(-30, -5, size), V)


STATES = {"V_m": _below_peak, "refractory": held(20), "g_ex": gamma(10), "g_in": gamma(20), "w": gamma(100)}
POPULATION = Population(ADAPTIVE, STATES, spread=0.05)
# Without a refractory time they go on in the same step.
_GOING_ON = POPULATION.random(33, t_ref=0.0)

CASES = (
    *POPULATION.cases(MOVING, 5000, {"surrogate": triangular(width=60.0)}),
    Case("one-substep", POPULATION.random(33, substeps=1), differentiable=MOVING),
    Case("current", with_array(_GOING_ON, "I_e", 500), differentiable=MOVING),
    Case("count", with_array(POPULATION.random(33, t_ref=0.0, count=True), "I_e", 1e6)),
    Case("count-held", POPULATION.random(33, count=True), differentiable=MOVING),
    # Above and below the peak, held above it, and NaN; a conductance is infinite.
    Case(
        "threshold",
        neurons(ADAPTIVE, [1, -70, 1, np.nan, -70], [0, 0, 0.1, 0, 0.1], [0, 0, 0, 0, np.inf], *(0, 0)),
    ),
)

wrong = POPULATION.wrong
INVALID_CALLS = (
    *POPULATION.invalid_calls(mixed="w", short=("refractory", "a"), positive=("Delta_T", "tau_w")),
    wrong("overflow", ValueError, r"V_th\) / Delta_T is or contains 100.8; expected", Delta_T=0.5),
    wrong("no-substep", ValueError, "substeps is 0; expected an integer >= 1", substeps=0),
    wrong("half-substep", TypeError, "substeps is 0.5; expected an integer", substeps=0.5),
    wrong("count-surrogate", TypeError, "count=True with surr", count=True, surrogate=triangular()),
)


BENCH = Bench(carried={i: i for i in range(5)})
