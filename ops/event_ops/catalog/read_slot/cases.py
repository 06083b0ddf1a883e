"""Cases of `read_slot`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from event_ops.cases import BENCHMARK, EXACT, Arguments, Case, Mistake
from event_ops.cases.matrices import numbers

DTYPES = ("float32", "float64")
ROUNDING = EXACT

BUFFER = 0


def _random(shape: tuple[int, ...], slot: int) -> Callable[..., Arguments]:
    def make(rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
        return (numbers(rng, shape, dtype), np.int32(slot)), {}

    return make


CASES = (
    Case("random", _random((5, 11), 2), differentiable=(BUFFER,)),
    Case("channels", _random((3, 2, 4), 7), differentiable=(BUFFER,)),
    Case("negative", _random((3, 4), -1), differentiable=(BUFFER,)),
    Case("no-columns", _random((3, 0), 1)),
    Case("one-each", _random((4,), 1)),
    Case("4k", _random((32, 4000), 1), frozenset({BENCHMARK})),
    Case("100k", _random((32, 100_000), 1), frozenset({BENCHMARK})),
    Case("1M", _random((8, 1_000_000), 1), frozenset({BENCHMARK})),
)


def _wrong(buffer: Any, slot: Any) -> Callable[[], Arguments]:
    return lambda: ((buffer, slot), {})


_B = np.zeros((2, 3), np.float32)

MISTAKES = (
    Mistake("bool", _wrong(_B.astype(bool), 0), TypeError, "buffer has dtype bool"),
    Mistake("fraction", _wrong(_B, 0.5), TypeError, "slot has dtype float"),
    Mistake("narrow", _wrong(_B, np.int8(0)), TypeError, "slot has dtype int8"),
    Mistake("slots", _wrong(_B, np.zeros(2, np.int32)), ValueError, r"slot has shape \(2,\)"),
    Mistake("no-slots", _wrong(_B[:0], 0), ValueError, "at least one slot"),
    Mistake("scalar", _wrong(np.float32(1), 0), ValueError, "at least one slot"),
)
