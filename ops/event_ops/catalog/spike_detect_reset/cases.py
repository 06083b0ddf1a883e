"""Cases of `spike_detect_reset`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from event_ops.cases import BENCHMARK, CONFORMANCE, EXACT, Arguments, Case, Mistake, changes_to
from event_ops.surrogate import atan

DTYPES = ("float32", "float64")
ROUNDING = EXACT

V_M = 0

POTENTIALS: dict[str, Any] = {"V_th": -55.0, "V_reset": -70.0}


def _random(size: Any, *, each: bool = False, **options: Any) -> Callable[..., Arguments]:
    def make(rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
        V = np.asarray(rng.uniform(-75, -50, size)).astype(dtype)
        spread = rng.uniform(-2, 2, (len(POTENTIALS), *V.shape))
        parameters = {
            name: (value + difference).astype(dtype) if each else value
            for (name, value), difference in zip(POTENTIALS.items(), spread, strict=True)
        }
        return (V,), parameters | options

    return make


def _threshold(rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
    """Return potentials at the threshold, just above and just below it, infinite, and NaN."""
    above, below = (np.nextafter(np.asarray(-55, dtype), np.asarray(side, dtype)) for side in (0, -99))
    return (np.array([-55, above, below, np.inf, -np.inf, np.nan], dtype),), POTENTIALS


CASES = (
    Case("random", _random(33), differentiable=(V_M,)),
    Case("each", _random((4, 5), each=True), differentiable=(V_M,)),
    Case("surrogate", _random(33, surrogate=atan())),
    Case("threshold", _threshold),
    Case("empty", _random(0), differentiable=(V_M,)),
    Case("threads", _random(270_000)),
    Case("4k", _random(4000), frozenset({CONFORMANCE, BENCHMARK})),
    Case("100k", _random(100_000), frozenset({BENCHMARK})),
    Case("1M", _random(1_000_000), frozenset({BENCHMARK})),
)


_wrong = changes_to({"V_m": np.zeros(3, np.float32)}, **POTENTIALS)

MISTAKES = (
    Mistake("half", _wrong(V_m=np.zeros(3, np.float16)), TypeError, "V_m has dtype float16"),
    Mistake("short-V_th", _wrong(V_th=np.zeros(2, "f")), ValueError, r"V_th has shape \(2,\)"),
    Mistake("short-V_reset", _wrong(V_reset=np.zeros(2, "f")), ValueError, r"V_reset has shape \(2,\)"),
    Mistake("surrogate", _wrong(surrogate="atan"), TypeError, "surrogate is 'atan'; expected None or"),
)
