"""Cases of `compact_event_matvec`."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, Call, Outs, active_flags, rows_of, size
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.matrices import WORDS_2_4, packed
from event_ops.cases.operations import sparse_event_product

DTYPES = ("float32", "float64")
ROUNDING = Rounding(100)  # for sums of up to a hundred terms, whose codes have either sign

SCALE, EVENTS = 2, 3


@drawn
def _random(draw: Draw, shape: Shape, nse: int, transpose: bool, events: str, by_row: bool) -> Arguments:
    entries, indptr = draw.words(shape, nse)
    scale = draw.numbers(shape[0] if by_row else ())
    active = draw.events(shape[0] if transpose else shape[1], 0.3, events)
    static: dict[str, Any] = {"shape": shape, "transpose": transpose}
    if active.dtype.kind in "iu":
        static["encoding"] = "counts"
    return (entries, indptr, scale, active), static


@drawn
def _narrow(draw: Draw, shape: Shape, nse: int, parts: int, transpose: bool, events: str) -> Arguments:
    (_, _, *args), kwargs = _random(shape, nse, transpose, events, parts > 1)(*draw)
    return (*draw.narrow_words(shape, nse, parts), *args), kwargs


@drawn
def _sized(draw: Draw, size: int, per_row: int, rate: float, transpose: bool, narrow: bool) -> Arguments:
    _, indices, indptr = draw.fixed_degree_csr((size, size), per_row)
    entries = packed(draw.rng.integers(-(2**10), 2**10, indices.size), indices, size)
    if narrow:
        entries, indptr = draw.fixed_degree_narrow_words((size, size), per_row, -(-size // 2**16))
    events = draw.events(size, rate)
    return (entries, indptr, draw.numbers(()), events), {"shape": (size, size), "transpose": transpose}


@drawn
def _any_words(draw: Draw, transpose: bool) -> Arguments:
    """Return words of any bits, many of them with columns that are out of range."""
    (entries, *args), kwargs = _random((6, 9), 90, transpose, "bool", True)(*draw)
    return (draw.rng.integers(0, 1 << 32, entries.size).astype(np.uint32), *args), kwargs


@drawn
def _poisoned(draw: Draw) -> Arguments:
    """Return NaN as the scale of rows whose event is inactive."""
    (entries, indptr, scale, events), kwargs = _random((9, 9), 60, True, "bool", True)(*draw)
    return (entries, indptr, np.where(events, scale, np.nan).astype(scale.dtype), events), kwargs


@drawn
def _spike_ids(draw: Draw, transpose: bool) -> Arguments:
    """Return ids in any order, some of them twice, between padding and others out of range."""
    args, kwargs = _random((11, 8), 60, transpose, "bool", True)(*draw)
    size, limits = (11 if transpose else 8), np.iinfo(np.int32)
    ids = np.array([3, size, 0, 7, 3, -1, limits.max, limits.min, size, 1], np.int32)
    return (*args[:3], np.tile(ids, 13)[:70]), kwargs | {"encoding": "ids"}


@drawn
def _packed(draw: Draw, transpose: bool) -> Arguments:
    """Return random bits, also behind the last event."""
    args, kwargs = _random((37, 71), 200, transpose, "bool", True)(*draw)
    bits = draw.rng.integers(0, 1 << 32, 2 if transpose else 3).astype(np.uint32)
    return (*args[:3], bits), kwargs | {"encoding": "bits"}


_SHAPES: dict[str, tuple[tuple[int, int], int]] = {
    "random": ((17, 23), 120),
    "one-column": ((5, 1), 20),
    "empty-rows": ((40, 9), 12),
    "no-entries": ((5, 4), 0),
    "no-rows": ((0, 4), 3),
    "no-columns": ((4, 0), 3),
    "threads": ((700, 500), 40_000),
}

_KINDS = (("bool", False), ("bool", True), ("float", False), ("float", True))


CASES = (
    *(
        Case(
            f"{name}{'-float' * (events == 'float')}{'-by-row' * by_row}{'-transposed' * transpose}",
            _random(shape, nse, transpose, events, by_row),
            differentiable=(SCALE, EVENTS) if events == "float" else (SCALE,),
            tolerance=20,
            note="sums of up to a hundred terms, in any order",
        )
        for name, (shape, nse) in _SHAPES.items()
        for transpose in (False, True)
        for events, by_row in _KINDS
        if name == "random" or (events, by_row) == ("bool", True)
    ),
    *(
        Case(
            f"narrow{'-parts' * (parts > 1)}-{events}{'-transposed' * transpose}",
            _narrow((17, 23), 120, parts, transpose, events),
            differentiable=(SCALE, EVENTS) if events == "float" else (SCALE,),
            tolerance=20,
        )
        for parts in (1, 3)
        for events in ("bool", "float")
        for transpose in (False, True)
    ),
    Case("narrow-threads-transposed", _narrow((700, 500), 40_000, 2, True, "bool"), tolerance=20),
    Case("narrow-all-threads", _narrow((4000, 500), 1 << 20, 2, True, "bool"), tolerance=200),
    Case("all-threads", _random((4000, 500), 1 << 20, True, "bool", True), tolerance=200),
    Case("any-words", _any_words(False), differentiable=(SCALE,), tolerance=20),
    Case("any-words-transposed", _any_words(True), differentiable=(SCALE,), tolerance=20),
    Case("poisoned-transposed", _poisoned(), tolerance=5, note="inactive: exactly 0 whatever the scale"),
    Case("counts", _random((37, 71), 400, False, "uint8", True), differentiable=(SCALE,), tolerance=50),
    Case(
        "counts-transposed",
        _random((37, 71), 400, True, "uint16", True),
        differentiable=(SCALE,),
        tolerance=50,
    ),
    Case("spike-ids", _spike_ids(False), differentiable=(SCALE,), tolerance=50, note="each id 14 times"),
    Case("spike-ids-transposed", _spike_ids(True), differentiable=(SCALE,), tolerance=50),
    Case("packed", _packed(False), differentiable=(SCALE,), tolerance=20),
    Case("packed-transposed", _packed(True), differentiable=(SCALE,), tolerance=20),
    *(
        benchmark(
            f"{'narrow-' * narrow}{size}-{per_row}-{rate:.2%}{'-transposed' * transpose}",
            _sized(size, per_row, rate, transpose, narrow),
            tolerance=200,
        )
        for narrow in (False, True)
        for size, per_row, rate in ((4000, 80, 0.01), (100_000, 100, 0.001), (100_000, 100, 0.01))
        for transpose in (False, True)
    ),
)

_wrong = changes_to(WORDS_2_4 | {"scale": np.float32(1), "events": np.ones(4, bool)}, shape=(2, 4))

INVALID_CALLS = (
    InvalidCall("signed", _wrong(entries=np.zeros(3, np.int32)), TypeError, "entries has dtype int32"),
    InvalidCall("integer", _wrong(scale=np.int32(1)), TypeError, "scale has dtype int32"),
    InvalidCall("integer-events", _wrong(events=np.ones(4, np.int32)), TypeError, "int32.*encoding='counts'"),
    InvalidCall("encoding", _wrong(encoding="index"), ValueError, "encoding is 'index'; expected 'flags'"),
    InvalidCall("mixed", _wrong(events=np.ones(4, np.float16)), TypeError, "events has dtype float16"),
    InvalidCall("scales", _wrong(scale=np.ones(3, "f")), ValueError, r"scale has shape \(3,\).*one per row"),
    InvalidCall("short-indptr", _wrong(indptr=np.array([0, 3])), ValueError, "one more than the 2 rows"),
    InvalidCall("columns", _wrong(shape=(2, 2**31 + 1)), ValueError, "at most 2147483648 columns"),
    InvalidCall("orientation", _wrong(events=np.ones(2, bool)), ValueError, "it fits transpose=True"),
)


def _moved(call: Call, outs: Outs) -> int:
    """Count active rows; without transpose all words."""
    around = size(call.events, *outs)
    if not call.transpose:
        return around + size(call.entries, call.indptr)
    active = active_flags(call.events, call.shape[0], call.encoding)
    ends = np.reshape(call.indptr, (-1, call.shape[0] + 1))
    return around + sum(rows_of(part, active, call.entries) for part in ends)


BENCH = Bench(linear=(2, 3), moved=_moved, operations=sparse_event_product)
