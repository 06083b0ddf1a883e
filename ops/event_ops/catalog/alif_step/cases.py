"""Cases of `alif_step`."""

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
from event_ops.surrogate import triangular

DTYPES = ("float32", "float64")
ROUNDING = Rounding(4)

V_M, ADAPTATION, I_SYN = 0, 2, 3

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


@drawn
def _random(draw: Draw, size: Any, *, each: bool = False, **options: Any) -> Arguments:
    V = draw.rng.uniform(-60, -46, size)
    held = np.where(draw.rng.random(size) < 0.3, draw.rng.integers(1, 50, size) * 0.1, 0.0)
    a = draw.rng.uniform(0, 4, size)
    current = draw.rng.normal(0, 20, size)
    parameters = draw.spread(ADAPTIVE, np.shape(V), 0.05) if each else ADAPTIVE
    state = tuple(np.asarray(x).astype(draw.dtype) for x in (V, held, a, current))
    return state, parameters | options


@drawn
def _threshold(draw: Draw) -> Arguments:
    """Return potentials above V_th, with and without adaptation, held and not; and NaN."""
    V = np.array([-49, -49, -49, -48, np.nan, -49], draw.dtype)
    held = np.array([0, 0, 0.1, 0, 0, 0], draw.dtype)
    a = np.array([0, 1, 0, 1, 0, np.nan], draw.dtype)
    return (V, held, a, np.asarray(15, draw.dtype)), ADAPTIVE


CASES = (
    Case("random", _random(33), differentiable=(V_M, ADAPTATION, I_SYN)),
    Case("each-euler", _random((4, 5), each=True, method="euler"), tolerance=4),
    Case("surrogate", _random(33, surrogate=triangular(width=5.0))),
    Case("jump", with_jumps(_random(33), 33), differentiable=(V_M, ADAPTATION, I_SYN)),
    Case("threshold", _threshold()),
    Case("single", _random(()), differentiable=(V_M, ADAPTATION, I_SYN)),
    Case("threads", _random(140_000)),
    Case("4k", _random(4000), frozenset({CONFORMANCE, BENCHMARK})),
    benchmark("100k", _random(100_000)),
    benchmark("1M", _random(1_000_000)),
)

_wrong = changes_to(dict.fromkeys(("V_m", "refractory", "a", "I_syn"), np.zeros(3, np.float32)), **ADAPTIVE)

INVALID_CALLS = (
    InvalidCall("integer", _wrong(V_m=np.zeros(3, np.int32)), TypeError, "V_m has dtype int32"),
    InvalidCall("mixed", _wrong(a=np.zeros(3, np.int32)), TypeError, "a has dtype int32 and V_m"),
    InvalidCall("short-jump", _wrong(jump=np.zeros(2, "f")), ValueError, r"jump has shape \(2,\)"),
    InvalidCall("short-a", _wrong(a=np.zeros(2, "f")), ValueError, r"a has shape \(2,\)"),
    InvalidCall("short-beta", _wrong(beta=np.zeros(2, "f")), ValueError, r"beta has shape \(2,\)"),
    InvalidCall("tau_a-zero", _wrong(tau_a=0), ValueError, "tau_a is or contains 0"),
    InvalidCall("method", _wrong(method="rk4"), ValueError, "method is 'rk4'; expected one of 'exact'"),
    InvalidCall("surrogate", _wrong(surrogate=triangular), TypeError, r"call it, triangular\(\)"),
)


# As in `lif_step`; a decays, and where a neuron is free, the threshold takes two and a the spike.
BENCH = Bench(
    carried={0: 0, 1: 1, 2: 2},
    operations=neuron_step(free=9, held=4, inputs=("I_syn", "jump")),
)
