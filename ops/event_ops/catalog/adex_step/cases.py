"""Cases of `adex_step`."""

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
from event_ops.surrogate import triangular

DTYPES = ("float32", "float64")
# The upstroke makes the rounding errors of ten substeps grow.
ROUNDING = Rounding(64)

V_M, G_EX, G_IN, W = 0, 2, 3, 4

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


@drawn
def _random(draw: Draw, size: Any, *, each: bool = False, **options: Any) -> Arguments:
    v = draw.rng.uniform(-75, -48, size)
    v = np.where(draw.rng.random(size) < 0.2, draw.rng.uniform(-30, -5, size), v)
    held = np.where(draw.rng.random(size) < 0.3, draw.rng.integers(1, 20, size) * 0.1, 0.0)
    g_ex, g_in, w = (draw.rng.gamma(2.0, mean / 2, size) for mean in (10, 20, 100))
    parameters = draw.spread(ADAPTIVE, np.shape(v), 0.05) if each else ADAPTIVE
    state = tuple(np.asarray(x).astype(draw.dtype) for x in (v, held, g_ex, g_in, w))
    return state, parameters | options


@drawn
def _current(draw: Draw, *, strength: float = 500, **options: Any) -> Arguments:
    """Return neurons with a current of their own, and no refractory time: they go on in the same step."""
    state, parameters = _random(33)(*draw)
    current = draw.rng.normal(0, strength, 33).astype(draw.dtype)
    return state, parameters | {"I_e": current, "t_ref": 0.0} | options


@drawn
def _threshold(draw: Draw) -> Arguments:
    """Return potentials above and below the peak, held above it, and NaN; a conductance is infinite."""
    v = np.array([1, -70, 1, np.nan, -70], draw.dtype)
    held = np.array([0, 0, 0.1, 0, 0.1], draw.dtype)
    g_ex = np.array([0, 0, 0, 0, np.inf], draw.dtype)
    return (v, held, g_ex, np.zeros_like(v), np.zeros_like(v)), ADAPTIVE


MOVING = (V_M, G_EX, G_IN, W)
CASES = (
    Case("random", _random(33), differentiable=MOVING),
    Case("one-substep", _random(33, substeps=1), differentiable=MOVING),
    Case("each", _random((4, 5), each=True), differentiable=MOVING, tolerance=8),
    Case("current", _current(), differentiable=MOVING),
    Case("count", _current(strength=1e6, count=True)),
    Case("count-held", _random(33, count=True), differentiable=MOVING),
    Case("threshold", _threshold()),
    Case("surrogate", _random(33, surrogate=triangular(width=60.0))),
    Case("empty", _random(0), differentiable=MOVING),
    Case("single", _random(()), differentiable=MOVING),
    Case("threads", _random(5000)),
    Case("4k", _random(4000), frozenset({CONFORMANCE, BENCHMARK})),
    benchmark("100k", _random(100_000)),
    benchmark("1M", _random(1_000_000)),
)

_STATES = ("V_m", "refractory", "g_ex", "g_in", "w")
_wrong = changes_to(dict.fromkeys(_STATES, np.zeros(3, np.float32)), **ADAPTIVE)

INVALID_CALLS = (
    InvalidCall("integer", _wrong(V_m=np.zeros(3, np.int32)), TypeError, "V_m has dtype int32"),
    InvalidCall("mixed", _wrong(w=np.zeros(3, np.int32)), TypeError, "w has dtype int32 and V_m"),
    InvalidCall("short", _wrong(refractory=np.zeros(2, "f")), ValueError, r"refractory has shape \(2,\)"),
    InvalidCall("short-a", _wrong(a=np.zeros(2, "f")), ValueError, r"a has shape \(2,\)"),
    InvalidCall("Delta_T-zero", _wrong(Delta_T=0), ValueError, "Delta_T is or contains 0"),
    InvalidCall("tau_w-zero", _wrong(tau_w=0.0), ValueError, "tau_w is or contains 0.0"),
    InvalidCall("t_ref-negative", _wrong(t_ref=-1.0), ValueError, "t_ref is or contains -1.0"),
    InvalidCall(
        "overflow", _wrong(Delta_T=0.5), ValueError, r"V_th\) / Delta_T is or contains 100.8; expected"
    ),
    InvalidCall("no-substep", _wrong(substeps=0), ValueError, "substeps is 0; expected an integer >= 1"),
    InvalidCall("half-substep", _wrong(substeps=0.5), TypeError, "substeps is 0.5; expected an integer"),
    InvalidCall(
        "count-surrogate", _wrong(count=True, surrogate=triangular()), TypeError, "count=True with surr"
    ),
    InvalidCall("surrogate", _wrong(surrogate=triangular), TypeError, r"call it, triangular\(\)"),
)


def operations(call: Call, outs: Outs) -> int:
    """Count those of every substep, of held neurons, too, whose V alone does not move, and of the step.

    In a substep two conductances decay. Twice, V is bounded (1) and gives the currents (13, of which the
    exponential takes 3) and, times the rate, a change of V and of w (1 and 4); w and V move once to the end
    (2) and then by the mean of two changes (6), and V is compared with the peak.
    """
    return outs[0].size * (2 + getattr(call, "substeps", 10) * (2 + 2 * 19 + 9))


BENCH = Bench(carried={i: i for i in range(5)}, operations=operations)
