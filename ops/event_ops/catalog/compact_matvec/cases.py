"""Cases of `compact_matvec`."""

from __future__ import annotations

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.matrices import WORDS_2_4, packed
from event_ops.cases.operations import sparse_product

DTYPES = ("float32", "float64")
ROUNDING = Rounding(100)  # for sums of up to a hundred terms, whose codes have either sign

SCALE, V = 2, 3


@drawn
def _random(draw: Draw, shape: Shape, nse: int, transpose: bool, by_row: bool) -> Arguments:
    entries, indptr = draw.words(shape, nse)
    scale = draw.numbers(shape[0] if by_row else ())
    v = draw.numbers(shape[0] if transpose else shape[1])
    return (entries, indptr, scale, v), {"shape": shape, "transpose": transpose}


@drawn
def _narrow(draw: Draw, shape: Shape, nse: int, parts: int, transpose: bool, by_row: bool) -> Arguments:
    entries, indptr = draw.narrow_words(shape, nse, parts)
    scale = draw.numbers(shape[0] if by_row else ())
    v = draw.numbers(shape[0] if transpose else shape[1])
    return (entries, indptr, scale, v), {"shape": shape, "transpose": transpose}


@drawn
def _sized(draw: Draw, size: int, per_row: int, transpose: bool, narrow: bool) -> Arguments:
    _, indices, indptr = draw.fixed_degree_csr((size, size), per_row)
    entries = packed(draw.rng.integers(-(2**10), 2**10, indices.size), indices, size)
    if narrow:
        entries, indptr = draw.fixed_degree_narrow_words((size, size), per_row, -(-size // 2**16))
    return (entries, indptr, draw.numbers(()), draw.numbers(size)), {
        "shape": (size, size),
        "transpose": transpose,
    }


@drawn
def _any_words(draw: Draw, transpose: bool) -> Arguments:
    """Return words of any bits, many of them with columns that are out of range."""
    (entries, *args), kwargs = _random((6, 9), 90, transpose, True)(*draw)
    return (draw.rng.integers(0, 1 << 32, entries.size).astype(np.uint32), *args), kwargs


@drawn
def _loose_ends(draw: Draw) -> Arguments:
    """Return an indptr that spans only some of the words."""
    entries, _ = draw.words((3, 5), 12)
    indptr = np.array([2, 4, 4, 9], draw.index_dtype)
    return (entries, indptr, draw.numbers(3), draw.numbers(5)), {"shape": (3, 5)}


_SHAPES: dict[str, tuple[tuple[int, int], int]] = {
    "random": ((17, 23), 120),
    "long-rows": ((3, 64), 200),
    "one-column": ((5, 1), 20),
    "empty-rows": ((40, 9), 12),
    "no-entries": ((5, 4), 0),
    "no-rows": ((0, 4), 3),
    "no-columns": ((4, 0), 3),
    "threads": ((700, 500), 40_000),
}

CASES = (
    *(
        Case(
            f"{name}{'-by-row' * by_row}{'-transposed' * transpose}",
            _random(shape, nse, transpose, by_row),
            differentiable=(SCALE, V),
            tolerance=20,
            note="sums of up to a hundred terms, in any order",
        )
        for name, (shape, nse) in _SHAPES.items()
        for by_row in (False, True)
        for transpose in (False, True)
        if by_row or name in ("random", "threads")
    ),
    Case("any-words", _any_words(False), differentiable=(SCALE, V), tolerance=20),
    Case("any-words-transposed", _any_words(True), differentiable=(SCALE, V), tolerance=20),
    *(
        Case(
            f"narrow{'-parts' * (parts > 1)}{'-by-row' * by_row}{'-transposed' * transpose}",
            _narrow((17, 23), 120, parts, transpose, by_row),
            differentiable=(SCALE, V),
            tolerance=20,
        )
        for parts, by_row in ((1, True), (3, False), (3, True))
        for transpose in (False, True)
    ),
    Case("narrow-threads", _narrow((700, 500), 40_000, 2, False, True), tolerance=20),
    Case("narrow-threads-transposed", _narrow((700, 500), 40_000, 2, True, True), tolerance=20),
    Case("narrow-no-columns", _narrow((4, 0), 3, 1, False, False)),
    Case("loose-ends", _loose_ends(), differentiable=(SCALE, V), tolerance=5),
    *(
        benchmark(
            f"{name}-{per_row}{'-transposed' * transpose}",
            _sized(size, per_row, transpose, "narrow" in name),
            tolerance=200,
        )
        for name, size, per_row in (
            *(("4000", 4000, 80), ("100k", 100_000, 100), ("1M", 1_000_000, 10)),
            *(("narrow-4000", 4000, 80), ("narrow-100k", 100_000, 100)),
        )
        for transpose in (False, True)
    ),
)

_wrong = changes_to(WORDS_2_4 | {"scale": np.float32(1), "v": np.ones(4, np.float32)}, shape=(2, 4))

INVALID_CALLS = (
    InvalidCall(
        "wide-parts", _wrong(indptr=np.array([[0, 1, 3]])), ValueError, r"indptr has shape \(1, 3\).*\(3,\)"
    ),
    InvalidCall(
        "narrow",
        _wrong(entries=np.zeros(3, np.uint16), v=np.ones(70_000, "f"), shape=(2, 70_000)),
        ValueError,
        "in 1 part of the columns; expected at most 65536.*make 2 parts or more",
    ),
    InvalidCall("signed", _wrong(entries=np.zeros(3, np.int32)), TypeError, "entries has dtype int32"),
    InvalidCall("half", _wrong(scale=np.float16(1)), TypeError, "scale has dtype float16"),
    InvalidCall("float-indptr", _wrong(indptr=np.zeros(3, "f")), TypeError, "indptr has dtype"),
    InvalidCall("mixed", _wrong(v=np.ones(4, np.int32)), TypeError, "v has dtype int32 and scale.*cast"),
    InvalidCall("flat", _wrong(entries=np.zeros((3, 1), np.uint32)), ValueError, "entries has 2 dim"),
    InvalidCall("scales", _wrong(scale=np.ones(3, "f")), ValueError, r"scale has shape \(3,\).*one per row"),
    InvalidCall("short-indptr", _wrong(indptr=np.array([0, 3])), ValueError, "one more than the 2 rows"),
    InvalidCall(
        "columns", _wrong(shape=(2, 2**31 + 1)), ValueError, "at most 2147483648 columns.*csr_matvec"
    ),
    InvalidCall("orientation", _wrong(v=np.ones(2, "f")), ValueError, "it fits transpose=True"),
)


BENCH = Bench(linear=(2, 3), operations=sparse_product)
