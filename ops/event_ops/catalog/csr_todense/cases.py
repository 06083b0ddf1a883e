"""Cases of `csr_todense`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from event_ops.cases import BENCHMARK, Arguments, Case, Mistake, Rounding, changes_to
from event_ops.cases.matrices import MATRIX_2_4, fixed_degree_csr, numbers, random_csr

DTYPES = ("float32", "float64", "int32")
ROUNDING = Rounding(0, sums=True)

DATA = 0


def _random(shape: tuple[int, int], nse: int) -> Callable[..., Arguments]:
    def make(rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
        return random_csr(rng, shape, nse, dtype, index_dtype), {"shape": shape}

    return make


def _one_weight(rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
    _, indices, indptr = random_csr(rng, (6, 9), 30, dtype, index_dtype)
    return (numbers(rng, (), dtype), indices, indptr), {"shape": (6, 9)}


def _out_of_range(rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
    """Return columns out of range, and an indptr that spans only some of the entries."""
    data, indices, _ = random_csr(rng, (3, 5), 12, dtype, index_dtype)
    indices[[3, 6]] = 5, np.iinfo(index_dtype).max
    if np.dtype(index_dtype).kind == "i":
        indices[7] = -1
    return (data, indices, np.array([2, 4, 4, 9], index_dtype)), {"shape": (3, 5)}


def _sized(size: int, per_row: int) -> Callable[..., Arguments]:
    def make(rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
        shape = (size, size)
        return fixed_degree_csr(rng, shape, per_row, dtype, index_dtype), {"shape": shape}

    return make


CASES = (
    Case("random", _random((7, 11), 60), differentiable=(DATA,), tolerance=5),
    Case("one-weight", _one_weight, differentiable=(DATA,), tolerance=20),
    Case("out-of-range", _out_of_range, differentiable=(DATA,), tolerance=5),
    Case("no-rows", _random((0, 4), 3), differentiable=(DATA,)),
    Case("no-columns", _random((4, 0), 3), differentiable=(DATA,)),
    Case("threads", _random((400, 300), 12_000), differentiable=(DATA,), tolerance=5),
    Case("400-40", _sized(400, 40), frozenset({BENCHMARK})),
    Case("1500-80", _sized(1500, 80), frozenset({BENCHMARK})),
    Case("4000-80", _sized(4000, 80), frozenset({BENCHMARK})),
)


_wrong = changes_to(MATRIX_2_4, shape=(2, 4))

MISTAKES = (
    Mistake("half", _wrong(data=np.ones(3, np.float16)), TypeError, "float16.*32 or 64 bits"),
    Mistake("bool-data", _wrong(data=np.ones(3, bool)), TypeError, "data has dtype bool"),
    Mistake("short-data", _wrong(data=np.ones(2, "f")), ValueError, r"data has shape \(2,\)"),
    Mistake("reversed", _wrong(shape=(4, 2)), ValueError, "one more than the 4 rows"),
    Mistake("shape", _wrong(shape=8), ValueError, "expected two integers"),
)
