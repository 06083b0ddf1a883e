"""Cases of `izhikevich_step`."""

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
from event_ops.cases.operations import per_element
from event_ops.surrogate import triangular

DTYPES = ("float32", "float64")
# The terms of the slope are some times as large as V, and cancel.
ROUNDING = Rounding(12)

V_M, U_M, I_SYN = 0, 1, 2

# The regular spiking neuron of the source.
REGULAR_SPIKING: dict[str, Any] = {"a": 0.02, "b": 0.2, "c": -65.0, "d": 8.0, "dt": 0.5}


@drawn
def _random(draw: Draw, size: Any, *, each: bool = False, **options: Any) -> Arguments:
    V, U = draw.rng.uniform(-85, 30, size), draw.rng.uniform(-18, 0, size)
    current = draw.rng.normal(5, 10, size)
    parameters = draw.spread(REGULAR_SPIKING, np.shape(V), 0.1) if each else REGULAR_SPIKING
    state = tuple(np.asarray(x).astype(draw.dtype) for x in (V, U, current))
    return state, parameters | options


@drawn
def _threshold(draw: Draw) -> Arguments:
    """Return potentials that end at the threshold, above it and below it; and NaN."""
    V = np.array([0, 0, 0, np.nan, 0], draw.dtype)
    current = np.array([-140, -139, -141, 0, np.inf], draw.dtype)
    return (V, np.zeros_like(V), current), REGULAR_SPIKING | {"V_th": 0.0}


CASES = (
    Case("random", _random(33), differentiable=(V_M, U_M, I_SYN)),
    Case("published", _random(33, method="published"), differentiable=(V_M, U_M, I_SYN)),
    Case("each", _random((4, 5), each=True), differentiable=(V_M, U_M, I_SYN), tolerance=4),
    Case("each-published", _random(33, each=True, method="published"), tolerance=4),
    Case("jump", with_jumps(_random(33), 33), differentiable=(V_M, U_M, I_SYN)),
    Case("threshold", _threshold()),
    Case("surrogate", _random(33, surrogate=triangular(width=40.0))),
    Case("empty", _random(0), differentiable=(V_M, U_M, I_SYN)),
    Case("single", _random(()), differentiable=(V_M, U_M, I_SYN)),
    Case("threads", _random(140_000)),
    Case("4k", _random(4000), frozenset({CONFORMANCE, BENCHMARK})),
    benchmark("100k", _random(100_000)),
    benchmark("1M", _random(1_000_000)),
)

_wrong = changes_to(dict.fromkeys(("V_m", "U_m", "I_syn"), np.zeros(3, np.float32)), **REGULAR_SPIKING)

INVALID_CALLS = (
    InvalidCall("integer", _wrong(V_m=np.zeros(3, np.int32)), TypeError, "V_m has dtype int32"),
    InvalidCall("mixed", _wrong(I_syn=np.zeros(3, np.int32)), TypeError, "I_syn has dtype int32 and V_m"),
    InvalidCall("short-U", _wrong(U_m=np.zeros(2, "f")), ValueError, r"U_m has shape \(2,\)"),
    InvalidCall("short-I", _wrong(I_syn=np.zeros(2, "f")), ValueError, r"I_syn has shape \(2,\)"),
    InvalidCall("short-a", _wrong(a=np.zeros(2, "f")), ValueError, r"a has shape \(2,\)"),
    InvalidCall("short-jump", _wrong(jump=np.zeros(2, "f")), ValueError, r"jump has shape \(2,\)"),
    InvalidCall("dt-zero", _wrong(dt=0.0), ValueError, "dt is or contains 0.0"),
    InvalidCall("method", _wrong(method="exact"), ValueError, "method is 'exact'; expected one of 'euler'"),
    InvalidCall("surrogate", _wrong(surrogate=triangular), TypeError, r"call it, triangular\(\)"),
)


# Euler's method: six operations for the slope of V and two to move it, three for that of U and three to move
# it, a jump, a comparison with the threshold; d, where there is a spike, counts for none.
BENCH = Bench(carried={0: 0, 1: 1}, operations=per_element(15))
