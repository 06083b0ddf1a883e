"""Cases of `ell_matvec`."""

from __future__ import annotations

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.float16_storage import stored_as
from event_ops.cases.matrices import ELL_2_4
from event_ops.cases.operations import sparse_product

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

DATA, V = 0, 2


@drawn
def _random(draw: Draw, shape: Shape, per_row: int, transpose: bool, padding: float = 0.0) -> Arguments:
    data, indices = draw.ell(shape, per_row, padding)
    v = draw.numbers(shape[0] if transpose else shape[1])
    return (data, indices, v), {"shape": shape, "transpose": transpose}


@drawn
def _not_a_number(draw: Draw, transpose: bool) -> Arguments:
    """Return NaN as the weights of padding."""
    (data, indices, v), kwargs = _random((6, 7), 5, transpose, 0.3)(*draw)
    data[indices.astype("uint64") >= 7] = np.nan
    return (data, indices, v), kwargs


CASES = (
    *(
        Case(
            f"{name}{'-transposed' * transpose}",
            _random(shape, per_row, transpose, 0.2),
            differentiable=(DATA, V),
            tolerance=20,
            note="sums of up to a hundred terms, in any order",
        )
        for name, shape, per_row in (("random", (17, 23), 7), ("threads", (700, 500), 60))
        for transpose in (False, True)
    ),
    Case("padding", _not_a_number(False), tolerance=5),
    Case("padding-transposed", _not_a_number(True), tolerance=5),
    Case("no-entries", _random((5, 4), 0, False), differentiable=(DATA, V)),
    Case("no-columns", _random((4, 0), 3, False), differentiable=(DATA, V)),
    Case("float16", stored_as("float16", DATA, _random((17, 23), 7, True, 0.2)), tolerance=20),
    Case("bfloat16", stored_as("bfloat16", DATA, _random((17, 23), 7, False, 0.2)), tolerance=20),
    *(
        benchmark(
            f"{size}-{per_row}{'-transposed' * transpose}",
            _random((size, size), per_row, transpose),
            tolerance=20,
        )
        for size, per_row in ((4000, 80), (20_000, 100), (100_000, 100))
        for transpose in (False, True)
    ),
)

_wrong = changes_to(ELL_2_4 | {"v": np.ones(4, np.float32)}, shape=(2, 4))

INVALID_CALLS = (
    InvalidCall(
        "half",
        _wrong(data=np.ones((2, 3), np.float16), v=np.ones(4, np.float16)),
        TypeError,
        "v has dtype float16; expected float32.*cast",
    ),
    InvalidCall("float-indices", _wrong(indices=np.zeros((2, 3), "f")), TypeError, "indices has dtype"),
    InvalidCall("mixed", _wrong(v=np.ones(4, np.int32)), TypeError, "v has dtype int32 and data.*cast"),
    InvalidCall("one-weight", _wrong(data=np.float32(1)), ValueError, "data has 0 dimensions"),
    InvalidCall("flat", _wrong(indices=np.zeros(6, np.int32)), ValueError, "indices has 1 dim"),
    InvalidCall("short-data", _wrong(data=np.ones((2, 2), "f")), ValueError, r"data has shape \(2, 2\)"),
    InvalidCall("rows", _wrong(shape=(3, 4)), ValueError, r"expected \(3, 3\): one row per row of shape"),
    InvalidCall("orientation", _wrong(v=np.ones(2, "f")), ValueError, "it fits transpose=True"),
)


BENCH = Bench(linear=(0, 2), operations=sparse_product)
