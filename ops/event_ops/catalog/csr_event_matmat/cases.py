"""Cases of `csr_event_matmat`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from event_ops.cases import BENCHMARK, Arguments, Case, Mistake, Rounding, changes_to
from event_ops.cases.matrices import MATRIX_2_4, fixed_degree_csr, numbers, random_csr, random_events

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

DATA, EVENTS = 0, 3


def _random(
    shape: tuple[int, int],
    nse: int,
    n: int,
    transpose: bool = False,
    kind: str = "bool",
    homogeneous: bool = False,
    rate: float = 0.1,
) -> Callable[..., Arguments]:
    def make(rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
        data, indices, indptr = random_csr(rng, shape, nse, dtype, index_dtype)
        size = shape[0] if transpose else shape[1]
        active = random_events(rng, size * n, rate, "bool" if kind == "bool" else dtype).reshape(size, n)
        weights = numbers(rng, (), dtype) if homogeneous else data
        return (weights, indices, indptr, active), {"shape": shape, "transpose": transpose}

    return make


def _sized(shape: tuple[int, int], per_row: int, n: int, transpose: bool) -> Callable[..., Arguments]:
    def make(rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
        arrays = fixed_degree_csr(rng, shape, per_row, dtype, index_dtype)
        events = rng.random((shape[0] if transpose else shape[1], n)) < 0.01
        return (*arrays, events), {"shape": shape, "transpose": transpose}

    return make


def _poisoned(transpose: bool) -> Callable[..., Arguments]:
    """Return NaN or inf as the weights that meet no active event, or whose column is out of range."""

    def make(rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
        args, kwargs = _random((9, 8), 60, 12, transpose, rate=0.06)(rng, dtype, index_dtype)
        data, indices, indptr, events = args
        indices[::7] = 8
        indices[1::9] = np.iinfo(index_dtype).max
        silent = ~np.append(events.any(axis=1), [False])
        rows = np.repeat(np.arange(9), np.diff(indptr))
        outside = indices >= 8
        hidden = silent[rows if transpose else np.minimum(indices, 8)] | outside
        data[hidden] = np.where(rng.random(hidden.sum()) < 0.5, np.nan, np.inf)
        return (data, indices, indptr, events), kwargs

    return make


CASES = (
    Case("random", _random((17, 23), 120, 5, kind="float"), differentiable=(DATA, EVENTS), tolerance=20),
    Case("random-transposed", _random((17, 23), 120, 9, True), differentiable=(DATA,), tolerance=20),
    Case(
        "random-transposed-float-one",
        _random((17, 23), 120, 20, True, "float", True),
        differentiable=(DATA, EVENTS),
        tolerance=20,
    ),
    Case("poisoned", _poisoned(False), tolerance=5, note="inactive: exactly 0 whatever the weight"),
    Case("poisoned-transposed", _poisoned(True), tolerance=5),
    Case("no-columns-of-events", _random((5, 4), 9, 0, True), differentiable=(DATA,)),
    Case("threads", _random((60, 80), 7000, 33), tolerance=50, note="sums of a hundred terms"),
    Case("threads-transposed", _random((60, 80), 11_000, 100, True, rate=0.2), tolerance=50),
    *(
        Case(
            f"{name}-n{n}-1.00%{'-transposed' * transpose}",
            _sized(shape, per_row, n, transpose),
            frozenset({BENCHMARK}),
            tolerance=20,
        )
        for name, shape, per_row, n in (
            ("1000x2000-5%", (1000, 2000), 100, 16),
            ("10k-100", (10_000, 10_000), 100, 32),
            ("100k-100", (100_000, 100_000), 100, 32),
        )
        for transpose in (False, True)
    ),
)


_wrong = changes_to(MATRIX_2_4 | {"events": np.ones((4, 5), bool)}, shape=(2, 4))

MISTAKES = (
    Mistake("integer", _wrong(data=np.ones(3, np.int32)), TypeError, "data has dtype int32"),
    Mistake("integer-events", _wrong(events=np.ones((4, 5), int)), TypeError, "events has dtype int"),
    Mistake("mixed", _wrong(events=np.ones((4, 5), "e")), TypeError, "events has dtype float16"),
    Mistake("short-data", _wrong(data=np.ones(2, "f")), ValueError, r"data has shape \(2,\)"),
    Mistake("vector", _wrong(events=np.ones(4, bool)), ValueError, "events has 1 dim.*call the matvec"),
    Mistake("orientation", _wrong(events=np.ones((2, 5), bool)), ValueError, "it fits transpose=True"),
    Mistake("short-events", _wrong(events=np.ones((3, 5), bool)), ValueError, "one row per column"),
)
