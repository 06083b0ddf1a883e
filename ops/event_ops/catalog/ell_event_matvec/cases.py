"""Cases of `ell_event_matvec`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from event_ops.cases import BENCHMARK, Arguments, Case, Mistake, Rounding, changes_to
from event_ops.cases.matrices import ELL_2_4, numbers, random_ell, random_events

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

DATA, EVENTS = 0, 2


def _random(
    shape: tuple[int, int],
    per_row: int,
    transpose: bool,
    events: str = "bool",
    homogeneous: bool = False,
    rate: float = 0.3,
    padding: float = 0.2,
) -> Callable[..., Arguments]:
    def make(rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
        data, indices = random_ell(rng, shape, per_row, dtype, index_dtype, padding)
        size = shape[0] if transpose else shape[1]
        active = random_events(rng, size, rate, "bool" if events == "bool" else dtype)
        weights = numbers(rng, (), dtype) if homogeneous else data
        return (weights, indices, active), {"shape": shape, "transpose": transpose}

    return make


def _poisoned(transpose: bool) -> Callable[..., Arguments]:
    """Return NaN as the weights that meet an inactive event, and as those of padding."""

    def make(rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
        (data, indices, events), kwargs = _random((9, 9), 6, transpose)(rng, dtype, index_dtype)
        padding = indices.astype("uint64") >= 9
        met = events[:, None] if transpose else events[np.where(padding, 0, indices)]
        data[padding | ~met] = np.nan
        return (data, indices, events), kwargs

    return make


CASES = (
    *(
        Case(
            name,
            make,
            differentiable=(DATA, EVENTS) if "float" in name else (DATA,),
            tolerance=20,
            note="sums of up to a hundred terms, in any order",
        )
        for name, make in (
            ("random-float", _random((17, 23), 7, False, "float")),
            ("random-transposed", _random((17, 23), 7, True)),
            ("random-transposed-float-one", _random((17, 23), 7, True, "float", True)),
            ("one", _random((17, 23), 7, False, "bool", True)),
            ("no-entries", _random((5, 4), 0, True)),
            ("threads", _random((700, 500), 60, False)),
            ("threads-transposed", _random((1100, 300), 1000, True, rate=0.05)),
        )
    ),
    Case("poisoned", _poisoned(False), tolerance=5, note="inactive: exactly 0 whatever the weight"),
    Case("poisoned-transposed", _poisoned(True), tolerance=5),
    *(
        Case(
            f"{size}-{per_row}-{rate:.2%}",
            _random((size, size), per_row, True, rate=rate, padding=0),
            frozenset({BENCHMARK}),
            tolerance=20,
        )
        for size, per_row, rate in ((4000, 80, 0.01), (100_000, 100, 0.001), (100_000, 100, 0.01))
    ),
)


_wrong = changes_to(ELL_2_4 | {"events": np.ones(4, bool)}, shape=(2, 4))

MISTAKES = (
    Mistake("integer", _wrong(data=np.ones((2, 3), np.int32)), TypeError, "data has dtype int32"),
    Mistake("integer-events", _wrong(events=np.ones(4, np.int32)), TypeError, "events has dtype int"),
    Mistake("short-data", _wrong(data=np.ones((2, 2), "f")), ValueError, r"data has shape \(2, 2\)"),
    Mistake("flat", _wrong(indices=np.zeros(6, np.int32)), ValueError, "indices has 1 dim"),
    Mistake("rows", _wrong(shape=(3, 4)), ValueError, r"expected \(3, 3\): one row per row of shape"),
    Mistake("orientation", _wrong(events=np.ones(2, bool)), ValueError, "it fits transpose=True"),
)
