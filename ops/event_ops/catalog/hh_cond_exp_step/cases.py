"""Cases of `hh_cond_exp_step`."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.cases import (
    BENCHMARK,
    CONFORMANCE,
    Arguments,
    Case,
    InvalidCall,
    Rounding,
    benchmark,
    changes_to,
)
from event_ops.cases.bench import Bench, Call, Outs
from event_ops.cases.draw import Draw, drawn
from event_ops.surrogate import fast_sigmoid

DTYPES = ("float32", "float64")
# V is moved by large currents of both signs, whose errors four substeps add up.
ROUNDING = Rounding(64)

V_M, G_EX, G_IN, ACT_M, INACT_H, ACT_N = 0, 2, 3, 4, 5, 6
MOVING = (V_M, G_EX, G_IN, ACT_M, INACT_H, ACT_N)

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


@drawn
def _random(draw: Draw, size: Any, *, each: bool = False, **options: Any) -> Arguments:
    V = draw.rng.uniform(-80, 45, size)
    held = np.where(draw.rng.random(size) < 0.3, draw.rng.integers(1, 20, size) * 0.1, 0.0)
    g_ex, g_in = draw.rng.gamma(2.0, 6.0, size), draw.rng.gamma(2.0, 33.0, size)
    gates = (draw.rng.uniform(0, 1, size) for _ in range(3))
    parameters = draw.spread(COBAHH, np.shape(V), 0.05) if each else COBAHH
    state = tuple(np.asarray(x).astype(draw.dtype) for x in (V, held, g_ex, g_in, *gates))
    return state, parameters | options


@drawn
def _threshold(draw: Draw) -> Arguments:
    """Return potentials that fall from above and rise to it, held and not, where rates are 0 / 0, and NaN."""
    V = np.array([0, 0, -70, -50, -23, -48, np.nan], draw.dtype)
    held = np.array([0, 0.1, 0, 0, 0, 0, 0], draw.dtype)
    n = np.array([1, 1, 0, 0, 0, 0, 0], draw.dtype)
    none = np.zeros_like(V)
    return (V, held, none, none, none, none, n), COBAHH


CASES = (
    Case("random", _random(33), differentiable=MOVING),
    Case("one-substep", _random(33, substeps=1), differentiable=MOVING),
    Case("each", _random((4, 5), each=True), differentiable=MOVING, tolerance=8),
    Case("threshold", _threshold()),
    Case("surrogate", _random(33, surrogate=fast_sigmoid())),
    Case("empty", _random(0), differentiable=MOVING),
    Case("single", _random(()), differentiable=MOVING),
    Case("threads", _random(5000)),
    Case("4k", _random(4000), frozenset({CONFORMANCE, BENCHMARK})),
    benchmark("100k", _random(100_000)),
    benchmark("1M", _random(1_000_000)),
)

_STATES = ("V_m", "refractory", "g_ex", "g_in", "Act_m", "Inact_h", "Act_n")
_wrong = changes_to(dict.fromkeys(_STATES, np.zeros(3, np.float32)), **COBAHH)

INVALID_CALLS = (
    InvalidCall("integer", _wrong(V_m=np.zeros(3, np.int32)), TypeError, "V_m has dtype int32"),
    InvalidCall("mixed", _wrong(Act_n=np.zeros(3, np.int32)), TypeError, "Act_n has dtype int32 and V_m"),
    InvalidCall("short", _wrong(Inact_h=np.zeros(2, "f")), ValueError, r"Inact_h has shape \(2,\)"),
    InvalidCall("short-g_K", _wrong(g_K=np.zeros(2, "f")), ValueError, r"g_K has shape \(2,\)"),
    InvalidCall("C_m-zero", _wrong(C_m=0), ValueError, "C_m is or contains 0"),
    InvalidCall("t_ref-negative", _wrong(t_ref=-1.0), ValueError, "t_ref is or contains -1.0"),
    InvalidCall("no-substep", _wrong(substeps=0), ValueError, "substeps is 0; expected an integer >= 1"),
    InvalidCall("half-substep", _wrong(substeps=0.5), TypeError, "substeps is 0.5; expected an integer"),
    InvalidCall("surrogate", _wrong(surrogate="atan"), TypeError, "surrogate is 'atan'; expected None or"),
)


def operations(call: Call, outs: Outs) -> int:
    """Count those of every substep, and the comparisons of the step.

    In a substep two conductances decay. Twice, the gates move: six rates (4 each, 2 more for the two whose
    exponential is divided by or into), and for each gate where it moves to and how far (9). V takes the
    conductances of two channels (8), and moves as in `lif_cond_exp_step` (14, and 6 for the channels).
    """
    return outs[0].size * (5 + getattr(call, "substeps", 4) * (2 + 2 * (6 * 5 + 3 * 9) + 8 + 20))


BENCH = Bench(carried={i: i for i in range(7)}, operations=operations)
