"""Cases of `csr_matmat`."""

from __future__ import annotations

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.float16_storage import stored_as
from event_ops.cases.matrices import MATRIX_2_4, lead_astray
from event_ops.cases.operations import sparse_product

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

DATA, B = 0, 3


@drawn
def _random(draw: Draw, shape: Shape, nse: int, n: int, transpose: bool = False) -> Arguments:
    dense = draw.numbers((shape[0] if transpose else shape[1], n))
    arrays = draw.csr(shape, nse)
    return (*arrays, dense), {"shape": shape, "transpose": transpose}


@drawn
def _sized(draw: Draw, shape: Shape, per_row: int, n: int, transpose: bool) -> Arguments:
    dense = draw.numbers((shape[0] if transpose else shape[1], n))
    arrays = draw.fixed_degree_csr(shape, per_row)
    return (*arrays, dense), {"shape": shape, "transpose": transpose}


@drawn
def _out_of_range(draw: Draw, transpose: bool) -> Arguments:
    """Return columns out of range and an indptr that spans only some entries; such weights are NaN."""
    (data, indices, indptr, dense), kwargs = _random((6, 7), 40, 3, transpose)(*draw)
    indptr = np.clip(indptr, 5, 33)
    lead_astray(indices, 7)
    k = np.arange(40)
    data[(k < 5) | (k >= 33) | (indices < 0) | (indices >= 7)] = np.nan
    return (data, indices, indptr, dense), kwargs


@drawn
def _one_weight(
    draw: Draw, shape: Shape, nse: int, n: int, transpose: bool, of_weight: tuple[int, ...]
) -> Arguments:
    """Return columns out of range, too, which one weight for all cannot hide by being 0."""
    (_, *args), kwargs = _random(shape, nse, n, transpose)(*draw)
    lead_astray(args[0], shape[1])
    return (draw.numbers(of_weight), *args), kwargs


CASES = (
    Case("random", _random((17, 23), 120, 5), differentiable=(DATA, B), tolerance=20),
    Case("random-transposed", _random((17, 23), 120, 5, True), differentiable=(DATA, B), tolerance=20),
    Case("out-of-range", _out_of_range(False), tolerance=5),
    Case("out-of-range-transposed", _out_of_range(True), tolerance=5),
    Case("no-columns-of-B", _random((5, 4), 9, 0), differentiable=(DATA, B)),
    Case("threads", _random((60, 80), 7000, 33), tolerance=50, note="sums of a hundred terms"),
    Case("threads-transposed", _random((60, 80), 7000, 33, True), tolerance=50),
    *(
        Case(
            f"one-weight-{name}{'-transposed' * transpose}",
            _one_weight(shape, nse, 5, transpose, of_weight),
            differentiable=(DATA, B),
            tolerance=50,
        )
        for name, shape, nse, of_weight in (
            ("0d", (17, 23), 120, ()),
            ("1d", (17, 23), 120, (1,)),
            ("threads", (60, 80), 40_000, ()),
        )
        for transpose in (False, True)
    ),
    Case("float16", stored_as("float16", DATA, _random((17, 23), 120, 5)), tolerance=20),
    Case("bfloat16", stored_as("bfloat16", DATA, _random((17, 23), 120, 5)), tolerance=20),
    Case("bfloat16-transposed", stored_as("bfloat16", DATA, _random((17, 23), 120, 5, True)), tolerance=20),
    *(
        benchmark(
            f"{name}-n{n}{'-transposed' * transpose}", _sized(shape, per_row, n, transpose), tolerance=20
        )
        for name, shape, per_row, n in (
            ("1000x2000-5%", (1000, 2000), 100, 16),
            ("10k-100", (10_000, 10_000), 100, 32),
            ("100k-100", (100_000, 100_000), 100, 32),
        )
        for transpose in (False, True)
    ),
)

_wrong = changes_to(MATRIX_2_4 | {"B": np.ones((4, 5), np.float32)}, shape=(2, 4))

INVALID_CALLS = (
    InvalidCall(
        "half",
        _wrong(data=np.ones(3, np.float16), B=np.ones((4, 5), np.float16)),
        TypeError,
        "B has dtype float16; expected float32.*cast",
    ),
    InvalidCall("mixed", _wrong(B=np.ones((4, 5), np.int32)), TypeError, "B has dtype int32 and data.*cast"),
    InvalidCall("grid-of-weights", _wrong(data=np.ones((3, 1), "f")), ValueError, r"data has shape \(3, 1\)"),
    InvalidCall("short-data", _wrong(data=np.ones(2, "f")), ValueError, r"data has shape \(2,\)"),
    InvalidCall("vector", _wrong(B=np.ones(4, "f")), ValueError, r"B has 1 dimensions.*call the matvec"),
    InvalidCall(
        "short-B", _wrong(B=np.ones((3, 5), "f")), ValueError, r"expected \(4, 5\): one row per column"
    ),
    InvalidCall("orientation", _wrong(B=np.ones((2, 5), "f")), ValueError, "it fits transpose=True"),
)


BENCH = Bench(linear=(0, 3), operations=sparse_product)
