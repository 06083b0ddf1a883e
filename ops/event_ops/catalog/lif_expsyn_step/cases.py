"""Cases of `lif_expsyn_step`."""

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


@drawn
def _random(draw: Draw, size: Any, *, each: bool = False, **options: Any) -> Arguments:
    V = draw.rng.uniform(-65, -49.9, size)
    held = np.where(draw.rng.random(size) < 0.3, draw.rng.integers(1, 20, size) * 0.1, 0.0)
    current = draw.rng.normal(0, 300, size)
    parameters = draw.spread(NEURON, np.shape(V), 0.1) if each else NEURON
    state = tuple(np.asarray(x).astype(draw.dtype) for x in (V, held, current))
    return state, parameters | options


@drawn
def _threshold(draw: Draw) -> Arguments:
    """Return potentials at the threshold, near it, held above it, and NaN; one current is infinite."""
    V = np.array([-50, -49.9, -50.1, -40, np.nan, -60], draw.dtype)
    held = np.array([0, 0, 0, 0.1, 0, 0], draw.dtype)
    current = np.array([0, 0, 0, 0, 0, np.inf], draw.dtype)
    return (V, held, current), NEURON | {"E_L": -50.0, "I_e": 0.0}


CASES = (
    Case("random", _random(33), differentiable=(V_M, I_SYN)),
    Case("each", _random(33, each=True), differentiable=(V_M, I_SYN), tolerance=4),
    Case("grid", _random((4, 5)), differentiable=(V_M, I_SYN)),
    Case("one-tau", _random(33, tau_syn=10.0), differentiable=(V_M, I_SYN)),
    Case("jump", with_jumps(_random(33), 33), differentiable=(V_M, I_SYN)),
    Case("threshold", _threshold()),
    Case("surrogate", _random(33, V_th=-55.0, surrogate=fast_sigmoid())),
    Case("empty", _random(0), differentiable=(V_M, I_SYN)),
    Case("single", _random(()), differentiable=(V_M, I_SYN)),
    Case("threads", _random(70_000)),
    Case("4k", _random(4000), frozenset({CONFORMANCE, BENCHMARK})),
    benchmark("100k", _random(100_000)),
    benchmark("1M", _random(1_000_000)),
)

_wrong = changes_to(dict.fromkeys(("V_m", "refractory", "I_syn"), np.zeros(3, np.float32)), **NEURON)

INVALID_CALLS = (
    InvalidCall("integer", _wrong(V_m=np.zeros(3, np.int32)), TypeError, "V_m has dtype int32"),
    InvalidCall("mixed", _wrong(I_syn=np.zeros(3, np.int32)), TypeError, "I_syn has dtype int32 and V_m"),
    InvalidCall("short", _wrong(refractory=np.zeros(2, "f")), ValueError, r"refractory has shape \(2,\)"),
    InvalidCall("one-I", _wrong(I_syn=np.zeros((), "f")), ValueError, r"I_syn has shape \(\)"),
    InvalidCall("short-jump", _wrong(jump=np.zeros(2, "f")), ValueError, r"jump has shape \(2,\)"),
    InvalidCall("short-V_th", _wrong(V_th=np.zeros(2, "f")), ValueError, r"V_th has shape \(2,\)"),
    InvalidCall("short-R_m", _wrong(R_m=np.zeros(2, "f")), ValueError, r"R_m has shape \(2,\)"),
    InvalidCall("tau-zero", _wrong(tau_m=0), ValueError, "tau_m is or contains 0"),
    InvalidCall("tau_syn-zero", _wrong(tau_syn=0.0), ValueError, "tau_syn is or contains 0"),
    InvalidCall("dt-zero", _wrong(dt=0.0), ValueError, "dt is or contains 0.0"),
    InvalidCall("t_ref-negative", _wrong(t_ref=-1.0), ValueError, "t_ref is or contains -1.0"),
    InvalidCall("surrogate", _wrong(surrogate="atan"), TypeError, "surrogate is 'atan'; expected None or"),
)


# As in `lif_step`; the current decays, and where a neuron is free, it takes two to add to V.
BENCH = Bench(
    carried={0: 0, 1: 1, 2: 2},
    operations=neuron_step(free=8, held=4, inputs=("jump",)),
)
