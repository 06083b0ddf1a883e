"""Cases of `csr_matvec`."""

from __future__ import annotations

import numpy as np

from event_ops.cases import CONFORMANCE, Arguments, Case, InvalidCall, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.float16_storage import stored_as
from event_ops.cases.matrices import MATRIX_2_4, lead_astray
from event_ops.cases.operations import sparse_product
from event_ops.checks.arrays import HALVES

DTYPES = ("float32", "float64", "complex64", "int32")
ROUNDING = Rounding(1, sums=True)  # products of complex numbers round twice

DATA, V = 0, 3


@drawn
def _random(draw: Draw, shape: Shape, nse: int, transpose: bool) -> Arguments:
    v = draw.numbers(shape[0] if transpose else shape[1])
    arrays = draw.csr(shape, nse)
    return (*arrays, v), {"shape": shape, "transpose": transpose}


@drawn
def _one_weight(draw: Draw, shape: Shape, nse: int, transpose: bool, of_weight: tuple[int, ...]) -> Arguments:
    """Return columns out of range, too, which one weight for all cannot hide by being 0."""
    (_, *args), kwargs = _random(shape, nse, transpose)(*draw)
    lead_astray(args[0], shape[1])
    return (draw.numbers(of_weight), *args), kwargs


@drawn
def _sized(draw: Draw, shape: Shape, per_row: int, transpose: bool) -> Arguments:
    v = draw.numbers(shape[0] if transpose else shape[1])
    arrays = draw.fixed_degree_csr(shape, per_row)
    return (*arrays, v), {"shape": shape, "transpose": transpose}


@drawn
def _loose_ends(draw: Draw) -> Arguments:
    """Return an indptr that spans only some of the entries."""
    data, indices, _ = draw.csr((3, 5), 12)
    indptr = np.array([2, 4, 4, 9], draw.index_dtype)
    return (data, indices, indptr, draw.numbers(5)), {"shape": (3, 5)}


@drawn
def _out_of_range(draw: Draw, transpose: bool, nse: int = 30, first: int = 0) -> Arguments:
    """Return columns out of range, none of them in front of entry `first`."""
    args, kwargs = _random((6, 7), nse, transpose)(*draw)
    lead_astray(args[1][first:], 7)
    return args, kwargs


_SHAPES: dict[str, tuple[tuple[int, int], int]] = {
    "random": ((17, 23), 120),
    "one-entry": ((1, 1), 1),
    "empty-rows": ((40, 9), 12),
    "no-entries": ((5, 4), 0),
    "no-rows": ((0, 4), 3),
    "no-columns": ((4, 0), 3),
    "wide": ((2, 300), 90),
    "threads": ((700, 500), 40_000),
}

_SIZES: dict[str, tuple[tuple[int, int], int]] = {
    "1000x2000-5%": ((1000, 2000), 100),
    "100k-100": ((100_000, 100_000), 100),
    "1M-10": ((1_000_000, 1_000_000), 10),
}

CASES = (
    *(
        Case(
            f"{name}{'-transposed' * transpose}",
            _random(shape, nse, transpose),
            differentiable=(DATA, V),
            tolerance=20,
            note="sums of up to a hundred terms, in any order",
        )
        for name, (shape, nse) in _SHAPES.items()
        for transpose in (False, True)
    ),
    *(
        Case(
            f"one-weight-{name}{'-transposed' * transpose}",
            _one_weight(shape, nse, transpose, of_weight),
            differentiable=(DATA, V),
            tolerance=20,
        )
        for name, shape, nse, of_weight in (
            ("0d", (17, 23), 120, ()),
            ("1d", (17, 23), 120, (1,)),
            ("no-entries", (5, 4), 0, ()),
            ("threads", (700, 500), 40_000, ()),
        )
        for transpose in (False, True)
    ),
    Case("loose-ends", _loose_ends(), differentiable=(DATA, V), tolerance=5),
    Case("out-of-range", _out_of_range(False), frozenset({CONFORMANCE}), (DATA, V), 5),
    Case("out-of-range-transposed", _out_of_range(True), frozenset({CONFORMANCE}), (DATA, V), 5),
    Case("out-of-range-long-rows", _out_of_range(False, 250, 99), differentiable=(DATA, V), tolerance=20),
    *(
        Case(f"{half}-{name}", stored_as(half, DATA, make), tolerance=20)
        for half in HALVES
        for name, make in (
            ("random", _random((17, 23), 120, False)),
            ("random-transposed", _random((17, 23), 120, True)),
            ("one-weight", _one_weight((17, 23), 120, False, ())),
            ("threads", _random((700, 500), 40_000, False)),
        )
    ),
    *(
        benchmark(f"{name}{'-transposed' * transpose}", _sized(shape, per_row, transpose), tolerance=20)
        for name, (shape, per_row) in _SIZES.items()
        for transpose in (False, True)
    ),
)

_wrong = changes_to(MATRIX_2_4 | {"v": np.ones(4, np.float32)}, shape=(2, 4))

INVALID_CALLS = (
    InvalidCall(
        "half",
        _wrong(data=np.ones(3, np.float16), v=np.ones(4, np.float16)),
        TypeError,
        "v has dtype float16; expected float32.*cast",
    ),
    InvalidCall("bool-data", _wrong(data=np.ones(3, bool)), TypeError, "data has dtype bool"),
    InvalidCall("float-indices", _wrong(indices=np.zeros(3, "f")), TypeError, "indices has dtype"),
    InvalidCall("float-indptr", _wrong(indptr=np.zeros(3, "f")), TypeError, "indptr has dtype"),
    InvalidCall("mixed", _wrong(v=np.ones(4, np.int32)), TypeError, "v has dtype int32 and data.*cast"),
    InvalidCall("grid-of-weights", _wrong(data=np.ones((3, 1), "f")), ValueError, r"data has shape \(3, 1\)"),
    InvalidCall("short-data", _wrong(data=np.ones(2, "f")), ValueError, r"data has shape \(2,\)"),
    InvalidCall("flat", _wrong(indices=np.zeros((3, 1), np.int32)), ValueError, "indices has 2 dim"),
    InvalidCall("short-indptr", _wrong(indptr=np.array([0, 3])), ValueError, "one more than the 2 rows"),
    InvalidCall("reversed", _wrong(shape=(4, 2)), ValueError, "it fits shape reversed"),
    InvalidCall("short-v", _wrong(v=np.ones(3, "f")), ValueError, r"v has shape \(3,\); expected \(4,\)"),
    InvalidCall("orientation", _wrong(v=np.ones(2, "f")), ValueError, "it fits transpose=True"),
    InvalidCall("shape", _wrong(shape=8), ValueError, "expected two integers"),
    InvalidCall("negative-shape", _wrong(shape=(-1, 4)), ValueError, "sizes >= 0"),
)


BENCH = Bench(linear=(0, 3), operations=sparse_product)
