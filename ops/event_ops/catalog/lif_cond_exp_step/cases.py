"""Cases of `lif_cond_exp_step`."""

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
from event_ops.cases.bench import Bench
from event_ops.cases.draw import Draw, drawn
from event_ops.cases.operations import neuron_step
from event_ops.surrogate import fast_sigmoid

DTYPES = ("float32", "float64")
ROUNDING = Rounding(4)

V_M, G_EX, G_IN = 0, 2, 3

# The COBA network's neuron (Brette et al. 2007, benchmark 1).
COBA: dict[str, Any] = {
    "tau_syn_ex": 5.0,
    "tau_syn_in": 10.0,
    "E_L": -60.0,
    "g_L": 10.0,
    "C_m": 200.0,
    "E_ex": 0.0,
    "E_in": -80.0,
    "V_th": -50.0,
    "V_reset": -60.0,
    "t_ref": 5.0,
    "dt": 0.1,
}


@drawn
def _random(draw: Draw, size: Any, *, each: bool = False, **options: Any) -> Arguments:
    V = draw.rng.uniform(-60, -49.9, size)
    held = np.where(draw.rng.random(size) < 0.3, draw.rng.integers(1, 50, size) * 0.1, 0.0)
    g_ex, g_in = draw.rng.gamma(2.0, 6.0, size), draw.rng.gamma(2.0, 33.0, size)
    parameters = draw.spread(COBA, np.shape(V), 0.1) if each else COBA
    state = tuple(np.asarray(x).astype(draw.dtype) for x in (V, held, g_ex, g_in))
    return state, parameters | options


@drawn
def _current(draw: Draw) -> Arguments:
    """Return neurons with a current of their own, which drives some over the threshold."""
    state, parameters = _random(33)(*draw)
    return state, parameters | {"I_e": draw.rng.normal(0, 2000, 33).astype(draw.dtype)}


@drawn
def _threshold(draw: Draw) -> Arguments:
    """Return potentials at the threshold, near it, held above it, and NaN; some conductances are huge."""
    V = np.array([-50, -49.9, -50.1, -40, np.nan, -60, -60], draw.dtype)
    held = np.array([0, 0, 0, 0.1, 0, 0, 0.1], draw.dtype)
    g_ex = np.array([0, 0, 0, 0, 0, 1e9, np.inf], draw.dtype)
    return (V, held, g_ex, np.zeros_like(V)), COBA | {"E_L": -50.0}


CASES = (
    Case("random", _random(33), differentiable=(V_M, G_EX, G_IN)),
    Case("each", _random(33, each=True), differentiable=(V_M, G_EX, G_IN), tolerance=4),
    Case("grid", _random((4, 5), dt=1.0), differentiable=(V_M, G_EX, G_IN)),
    Case("current", _current(), differentiable=(V_M, G_EX, G_IN)),
    Case("threshold", _threshold()),
    Case("surrogate", _random(33, V_th=-55.0, surrogate=fast_sigmoid())),
    Case("empty", _random(0), differentiable=(V_M, G_EX, G_IN)),
    Case("single", _random(()), differentiable=(V_M, G_EX, G_IN)),
    Case("threads", _random(70_000)),
    Case("4k", _random(4000), frozenset({CONFORMANCE, BENCHMARK})),
    benchmark("100k", _random(100_000)),
    benchmark("1M", _random(1_000_000)),
)

F2 = np.ones(2, "f")
_wrong = changes_to(dict.fromkeys(("V_m", "refractory", "g_ex", "g_in"), np.zeros(3, np.float32)), **COBA)

INVALID_CALLS = (
    InvalidCall("integer", _wrong(V_m=np.zeros(3, np.int32)), TypeError, "V_m has dtype int32"),
    InvalidCall("mixed", _wrong(g_ex=np.zeros(3, np.int32)), TypeError, "g_ex has dtype int32 and V_m"),
    InvalidCall("short", _wrong(refractory=np.zeros(2, "f")), ValueError, r"refractory has shape \(2,\)"),
    InvalidCall("one-g", _wrong(g_in=np.zeros((), "f")), ValueError, r"g_in has shape \(\)"),
    InvalidCall("short-V_th", _wrong(V_th=np.zeros(2, "f")), ValueError, r"V_th has shape \(2,\)"),
    InvalidCall("short-I_e", _wrong(I_e=np.zeros(2, "f")), ValueError, r"I_e has shape \(2,\)"),
    InvalidCall("short-tau", _wrong(tau_syn_in=F2), ValueError, r"tau_syn_in or dt has shape \(2,\)"),
    InvalidCall("tau-zero", _wrong(tau_syn_ex=0), ValueError, "tau_syn_ex is or contains 0"),
    InvalidCall("C_m-zero", _wrong(C_m=0.0), ValueError, "C_m is or contains 0.0"),
    InvalidCall("g_L-zero", _wrong(g_L=0.0), ValueError, "g_L is or contains 0.0"),
    InvalidCall("dt-zero", _wrong(dt=0.0), ValueError, "dt is or contains 0.0"),
    InvalidCall("t_ref-negative", _wrong(t_ref=-1.0), ValueError, "t_ref is or contains -1.0"),
    InvalidCall("surrogate", _wrong(surrogate="atan"), TypeError, "surrogate is 'atan'; expected None or"),
)


# All compare the refractory time and decay two conductances. What is held subtracts dt, and compares with 0.
# What is free takes the means of the conductances (2), their sum (2), V_inf (4, and its division), exp
# and its argument (2), three operations towards V_inf, and compares with the threshold.
BENCH = Bench(
    carried={0: 0, 1: 1, 2: 2, 3: 3},
    operations=neuron_step(free=18, held=5, inputs=()),
)
