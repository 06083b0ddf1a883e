"""Cases of `spike_detect_reset`."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.cases import BENCHMARK, CONFORMANCE, EXACT, Arguments, Case, InvalidCall, benchmark, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.draw import Draw, drawn
from event_ops.cases.operations import per_element
from event_ops.surrogate import atan

DTYPES = ("float32", "float64")
ROUNDING = EXACT

V_M = 0

POTENTIALS: dict[str, Any] = {"V_th": -55.0, "V_reset": -70.0}


@drawn
def _random(draw: Draw, size: Any, *, each: bool = False, **options: Any) -> Arguments:
    V = np.asarray(draw.rng.uniform(-75, -50, size)).astype(draw.dtype)
    spread = draw.rng.uniform(-2, 2, (len(POTENTIALS), *V.shape))
    parameters = {
        name: (value + difference).astype(draw.dtype) if each else value
        for (name, value), difference in zip(POTENTIALS.items(), spread, strict=True)
    }
    return (V,), parameters | options


@drawn
def _threshold(draw: Draw) -> Arguments:
    """Return potentials at the threshold, just above and just below it, infinite, and NaN."""
    threshold, *sides = np.array([-55, 0, -99], draw.dtype)
    above, below = np.nextafter(threshold, sides)
    return (np.array([-55, above, below, np.inf, -np.inf, np.nan], draw.dtype),), POTENTIALS


CASES = (
    Case("random", _random(33), differentiable=(V_M,)),
    Case("each", _random((4, 5), each=True), differentiable=(V_M,)),
    Case("surrogate", _random(33, surrogate=atan())),
    Case("threshold", _threshold()),
    Case("empty", _random(0), differentiable=(V_M,)),
    Case("threads", _random(270_000)),
    Case("4k", _random(4000), frozenset({CONFORMANCE, BENCHMARK})),
    benchmark("100k", _random(100_000)),
    benchmark("1M", _random(1_000_000)),
)

_wrong = changes_to({"V_m": np.zeros(3, np.float32)}, **POTENTIALS)

INVALID_CALLS = (
    InvalidCall("half", _wrong(V_m=np.zeros(3, np.float16)), TypeError, "V_m has dtype float16"),
    InvalidCall("short-V_th", _wrong(V_th=np.zeros(2, "f")), ValueError, r"V_th has shape \(2,\)"),
    InvalidCall("short-V_reset", _wrong(V_reset=np.zeros(2, "f")), ValueError, r"V_reset has shape \(2,\)"),
    InvalidCall("surrogate", _wrong(surrogate="atan"), TypeError, "surrogate is 'atan'; expected None or"),
)


BENCH = Bench(carried={0: 0}, operations=per_element(1))
