"""Cases of `axpy`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from event_ops.cases import BENCHMARK, Arguments, Case, Mistake, Rounding
from event_ops.cases.matrices import numbers

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

A, X, Y = 0, 1, 2


def _random(size: int) -> Callable[..., Arguments]:
    def make(rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
        return (numbers(rng, (), dtype), numbers(rng, size, dtype), numbers(rng, size, dtype)), {}

    return make


CASES = (
    Case("random", _random(13), differentiable=(A, X, Y)),
    Case("empty", _random(0), differentiable=(A, X, Y)),
    Case("1M", _random(1_000_000), frozenset({BENCHMARK})),
)


def _wrong(a: Any, x: Any, y: Any) -> Callable[[], Arguments]:
    return lambda: ((a, x, y), {})


_A, _X = np.float32(2), np.ones(3, np.float32)

MISTAKES = (
    Mistake("integer", _wrong(_A, np.ones(3, np.int32), _X), TypeError, "x has dtype int32"),
    Mistake("mixed", _wrong(_A, _X, np.ones(3, np.int32)), TypeError, "y has dtype int32 and x"),
    Mistake("matrix", _wrong(_A, np.ones((3, 3), np.float32), _X), ValueError, "x has 2 dimensions"),
    Mistake("short", _wrong(_A, _X, _X[:2]), ValueError, r"y has shape \(2,\); expected \(3,\)"),
)
