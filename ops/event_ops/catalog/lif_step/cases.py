"""Cases of `lif_step`."""

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
from event_ops.cases.draw import Draw, drawn, with_jumps
from event_ops.cases.operations import neuron_step
from event_ops.surrogate import fast_sigmoid

DTYPES = ("float32", "float64")
ROUNDING = Rounding(4)

V_M, I_SYN = 0, 2

# The CUBA network's neuron (Brette et al. 2007, benchmark 2).
CUBA: dict[str, Any] = {
    "tau_m": 20.0,
    "E_L": -49.0,
    "V_th": -50.0,
    "V_reset": -60.0,
    "t_ref": 5.0,
    "dt": 0.1,
}


@drawn
def _random(draw: Draw, size: Any, *, each: bool = False, **options: Any) -> Arguments:
    V = draw.rng.uniform(-60, -49.9, size)
    held = np.where(draw.rng.random(size) < 0.3, draw.rng.integers(1, 50, size) * 0.1, 0.0)
    current = draw.rng.normal(0, 20, size)
    parameters = draw.spread(CUBA, np.shape(V), 0.1) if each else CUBA
    state = tuple(np.asarray(x).astype(draw.dtype) for x in (V, held, current))
    return state, parameters | options


@drawn
def _constant_current(draw: Draw) -> Arguments:
    (V, held, _), parameters = _random(30)(*draw)
    return (V, held, np.asarray(15, draw.dtype)), parameters


@drawn
def _threshold(draw: Draw) -> Arguments:
    """Return potentials at the threshold, just above and just below it, held above it, and NaN."""
    V = np.array([-50, -49.9, -50.1, -40, np.nan], draw.dtype)
    held = np.array([0, 0, 0, 0.1, 0], draw.dtype)
    return (V, held, np.asarray(-1, draw.dtype)), CUBA


CASES = (
    Case("random", _random(33), differentiable=(V_M, I_SYN)),
    Case("euler", _random(33, method="euler"), differentiable=(V_M, I_SYN)),
    Case("each", _random(33, each=True), differentiable=(V_M, I_SYN), tolerance=4),
    Case("each-euler", _random(33, each=True, method="euler"), tolerance=4),
    Case("grid", _random((4, 5)), differentiable=(V_M, I_SYN)),
    Case("constant-current", _constant_current(), differentiable=(V_M, I_SYN)),
    Case("jump", with_jumps(_random(33), 33), differentiable=(V_M, I_SYN)),
    Case("threshold", _threshold()),
    Case("surrogate", _random(33, V_th=-55.0, surrogate=fast_sigmoid())),
    Case("empty", _random(0), differentiable=(V_M, I_SYN)),
    Case("single", _random(()), differentiable=(V_M, I_SYN)),
    Case("threads", _random(140_000)),
    Case("4k", _random(4000), frozenset({CONFORMANCE, BENCHMARK})),
    benchmark("100k", _random(100_000)),
    benchmark("1M", _random(1_000_000)),
)

_wrong = changes_to(dict.fromkeys(("V_m", "refractory", "I_syn"), np.zeros(3, np.float32)), **CUBA)

INVALID_CALLS = (
    InvalidCall("integer", _wrong(V_m=np.zeros(3, np.int32)), TypeError, "V_m has dtype int32"),
    InvalidCall("mixed", _wrong(I_syn=np.zeros(3, np.int32)), TypeError, "I_syn has dtype int32 and V_m"),
    InvalidCall("short", _wrong(refractory=np.zeros(2, "f")), ValueError, r"refractory has shape \(2,\)"),
    InvalidCall("short-I", _wrong(I_syn=np.zeros(2, "f")), ValueError, r"I_syn has shape \(2,\)"),
    InvalidCall("short-jump", _wrong(jump=np.zeros(2, "f")), ValueError, r"jump has shape \(2,\)"),
    InvalidCall("short-V_th", _wrong(V_th=np.zeros(2, "f")), ValueError, r"V_th has shape \(2,\)"),
    InvalidCall("tau-zero", _wrong(tau_m=0), ValueError, "tau_m is or contains 0"),
    InvalidCall("dt-zero", _wrong(dt=0.0), ValueError, "dt is or contains 0.0"),
    InvalidCall("t_ref-negative", _wrong(t_ref=-1.0), ValueError, "t_ref is or contains -1.0"),
    InvalidCall("surrogate", _wrong(surrogate="atan"), TypeError, "surrogate is 'atan'; expected None or"),
    InvalidCall("method", _wrong(method="rk4"), ValueError, "method is 'rk4'; expected one of 'exact'"),
)


# All compare the refractory time. What is held subtracts dt from it, and compares with 0; what is free takes
# three operations towards V_inf, and compares with the threshold.
BENCH = Bench(
    carried={0: 0, 1: 1},
    operations=neuron_step(free=5, held=3, inputs=("I_syn", "jump")),
)
