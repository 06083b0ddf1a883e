"""Cases of the products with a matrix of words."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from event_ops.cases import (
    Arguments,
    Case,
    InvalidCall,
    OperatorCases,
    Rounding,
    benchmark,
    both_ways,
    changes_to,
)
from event_ops.cases.bench import Bench, Call, Outs, active_flags, rows_of, size
from event_ops.cases.draw import Draw, Shape, drawn, with_bits, with_spike_ids
from event_ops.cases.matrices import WORDS_2_4, packed

DTYPES = ("float32", "float64")
ROUNDING = Rounding(100)  # for sums of up to a hundred terms, whose codes have either sign

SCALE, X = 2, 3  # x is v or events


@drawn
def _random(draw: Draw, shape: Shape, nse: int, transpose: bool, by_row: bool, events: str = "") -> Arguments:
    """Return a product with events of this kind, or with numbers if none is named."""
    entries, indptr = draw.words(shape, nse)
    scale = draw.numbers(shape[0] if by_row else ())
    length = shape[0] if transpose else shape[1]
    x = draw.events(length, 0.3, events) if events else draw.numbers(length)
    static: dict[str, Any] = {"shape": shape, "transpose": transpose}
    if x.dtype.kind in "iu" and events:
        static["encoding"] = "counts"
    return (entries, indptr, scale, x), static


@drawn
def _narrow(
    draw: Draw, shape: Shape, nse: int, parts: int, transpose: bool, by_row: bool, events: str = ""
) -> Arguments:
    (_, _, *args), kwargs = _random(shape, nse, transpose, by_row, events)(*draw)
    return (*draw.narrow_words(shape, nse, parts), *args), kwargs


@drawn
def _sized(
    draw: Draw, size: int, per_row: int, transpose: bool, narrow: bool = False, rate: float | None = None
) -> Arguments:
    """Return a product with flags of this rate, or with numbers if there is none."""
    _, indices, indptr = draw.fixed_degree_csr((size, size), per_row)
    entries = packed(draw.rng.integers(-(2**10), 2**10, indices.size), indices, size)
    if narrow:
        entries, indptr = draw.narrow_words((size, size), per_row, -(-size // 2**16), per_row=True)
    x = draw.numbers(size) if rate is None else draw.events(size, rate)
    return (entries, indptr, draw.numbers(()), x), {"shape": (size, size), "transpose": transpose}


@drawn
def _any_words(draw: Draw, transpose: bool, events: str = "") -> Arguments:
    """Return words of any bits, many of them with columns that are out of range."""
    (entries, *args), kwargs = _random((6, 9), 90, transpose, True, events)(*draw)
    return (draw.rng.integers(0, 1 << 32, entries.size).astype(np.uint32), *args), kwargs


@drawn
def _loose_ends(draw: Draw) -> Arguments:
    """Return an indptr that spans only some of the words."""
    entries, _ = draw.words((3, 5), 12)
    indptr = np.array([2, 4, 4, 9], draw.index_dtype)
    return (entries, indptr, draw.numbers(3), draw.numbers(5)), {"shape": (3, 5)}


@drawn
def _poisoned(draw: Draw) -> Arguments:
    """Return NaN as the scale of rows whose event is inactive."""
    (entries, indptr, scale, events), kwargs = _random((9, 9), 60, True, True, "bool")(*draw)
    return (entries, indptr, np.where(events, scale, np.nan).astype(scale.dtype), events), kwargs


_SPIKE_IDS = {turned: with_spike_ids(_random((11, 8), 60, turned, True, "bool")) for turned in (False, True)}
_BITS = {turned: with_bits(_random((37, 71), 200, turned, True, "bool")) for turned in (False, True)}

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

_KINDS = (("bool", False), ("bool", True), ("float", False), ("float", True))
_LINEAR_IN = {"bool": (SCALE,), "float": (SCALE, X)}

# Sums of up to a hundred terms, in any order.
_summed = partial(Case, tolerance=20)
_linear = partial(_summed, differentiable=(SCALE, X))
_in_scale = partial(_summed, differentiable=(SCALE,))

_CASES = (
    *(
        _linear(
            f"{name}{'-by-row' * by_row}{'-transposed' * transpose}", _random(shape, nse, transpose, by_row)
        )
        for name, (shape, nse) in _SHAPES.items()
        for by_row in (False, True)
        for transpose in (False, True)
        if by_row or name in ("random", "threads")
    ),
    *both_ways(_linear, "any-words", _any_words),
    *both_ways(_linear, "narrow-by-row", partial(_narrow, (17, 23), 120, 1, by_row=True)),
    *both_ways(_linear, "narrow-parts", partial(_narrow, (17, 23), 120, 3, by_row=False)),
    *both_ways(_linear, "narrow-parts-by-row", partial(_narrow, (17, 23), 120, 3, by_row=True)),
    *both_ways(_summed, "narrow-threads", lambda turned: _narrow((700, 500), 40_000, 2, turned, True)),
    Case("narrow-no-columns", _narrow((4, 0), 3, 1, False, False)),
    _linear("loose-ends", _loose_ends(), tolerance=5),
    *both_ways(benchmark, "4000-80", partial(_sized, 4000, 80), tolerance=200),
    *both_ways(benchmark, "100k-100", partial(_sized, 100_000, 100), tolerance=200),
    *both_ways(benchmark, "1M-10", partial(_sized, 1_000_000, 10), tolerance=200),
    *both_ways(benchmark, "narrow-4000-80", partial(_sized, 4000, 80, narrow=True), tolerance=200),
    *both_ways(benchmark, "narrow-100k-100", partial(_sized, 100_000, 100, narrow=True), tolerance=200),
)

_EVENT_CASES = (
    *(
        _summed(
            f"{name}{'-float' * (events == 'float')}{'-by-row' * by_row}{'-transposed' * transpose}",
            _random(shape, nse, transpose, by_row, events),
            differentiable=_LINEAR_IN[events],
        )
        for name, (shape, nse) in _SHAPES.items()
        for transpose in (False, True)
        for events, by_row in _KINDS
        if name == "random" or (name != "long-rows" and (events, by_row) == ("bool", True))
    ),
    *(
        _summed(
            f"narrow{'-parts' * (parts > 1)}-{events}{'-transposed' * transpose}",
            _narrow((17, 23), 120, parts, transpose, parts > 1, events),
            differentiable=_LINEAR_IN[events],
        )
        for parts in (1, 3)
        for events in ("bool", "float")
        for transpose in (False, True)
    ),
    _summed("narrow-threads-transposed", _narrow((700, 500), 40_000, 2, True, True, "bool")),
    Case("narrow-all-threads", _narrow((4000, 500), 1 << 20, 2, True, True, "bool"), tolerance=200),
    Case("all-threads", _random((4000, 500), 1 << 20, True, True, "bool"), tolerance=200),
    *both_ways(_in_scale, "any-words", lambda turned: _any_words(turned, "bool")),
    # What is inactive adds exactly 0, whatever the scale.
    Case("poisoned-transposed", _poisoned(), tolerance=5),
    _in_scale("counts", _random((37, 71), 400, False, True, "uint8"), tolerance=50),
    _in_scale("counts-transposed", _random((37, 71), 400, True, True, "uint16"), tolerance=50),
    *both_ways(_in_scale, "spike-ids", _SPIKE_IDS.__getitem__, tolerance=50),  # each id 14 times
    *both_ways(_in_scale, "packed", _BITS.__getitem__),
    *(
        benchmark(
            f"{'narrow-' * narrow}{size}-{per_row}-{rate:.2%}{'-transposed' * transpose}",
            _sized(size, per_row, transpose, narrow, rate),
            tolerance=200,
        )
        for narrow in (False, True)
        for size, per_row, rate in ((4000, 80, 0.01), (100_000, 100, 0.001), (100_000, 100, 0.01))
        for transpose in (False, True)
    ),
)


def _moved(call: Call, outs: Outs) -> int:
    """Count active rows; without transpose all words."""
    around = size(call.events, *outs)
    if not call.transpose:
        return around + size(call.entries, call.indptr)
    active = active_flags(call.events, call.shape[0], call.encoding)
    ends = np.reshape(call.indptr, (-1, call.shape[0] + 1))
    return around + sum(rows_of(part, active, call.entries) for part in ends)


def _misshapen(wrong: Callable[..., Any], **short: Any) -> tuple[InvalidCall, ...]:
    """Return calls whose matrix, or whose operand `short`, does not fit."""
    return (
        wrong("signed", TypeError, "entries has dtype int32", entries=np.zeros(3, np.int32)),
        wrong("scales", ValueError, r"scale has shape \(3,\).*one per row", scale=np.ones(3, "f")),
        wrong("short-indptr", ValueError, "one more than the 2 rows", indptr=np.array([0, 3])),
        wrong("orientation", ValueError, "it fits transpose=True", **short),
    )


_wrong = changes_to(WORDS_2_4 | {"scale": np.float32(1), "v": np.ones(4, np.float32)}, shape=(2, 4))
compact_matvec = OperatorCases(
    DTYPES,
    _CASES,
    (
        _wrong("wide-parts", ValueError, r"indptr has shape \(1, 3\).*\(3,\)", indptr=np.array([[0, 1, 3]])),
        _wrong(
            "narrow",
            ValueError,
            "in 1 part of the columns; expected at most 65536.*make 2 parts or more",
            entries=np.zeros(3, np.uint16),
            v=np.ones(70_000, "f"),
            shape=(2, 70_000),
        ),
        _wrong("half", TypeError, "scale has dtype float16", scale=np.float16(1)),
        _wrong("float-indptr", TypeError, "indptr has dtype", indptr=np.zeros(3, "f")),
        _wrong("mixed", TypeError, "v has dtype int32 and scale.*cast", v=np.ones(4, np.int32)),
        _wrong("flat", ValueError, "entries has 2 dim", entries=np.zeros((3, 1), np.uint32)),
        _wrong("columns", ValueError, "at most 2147483648 columns.*csr_matvec", shape=(2, 2**31 + 1)),
        *_misshapen(_wrong, v=np.ones(2, "f")),
    ),
    ROUNDING,
    Bench(linear=(SCALE, X)),
)

_wrong = changes_to(WORDS_2_4 | {"scale": np.float32(1), "events": np.ones(4, bool)}, shape=(2, 4))
compact_event_matvec = OperatorCases(
    DTYPES,
    _EVENT_CASES,
    (
        _wrong("integer", TypeError, "scale has dtype int32", scale=np.int32(1)),
        _wrong("integer-events", TypeError, "int32.*encoding='counts'", events=np.ones(4, np.int32)),
        _wrong("encoding", ValueError, "encoding is 'index'; expected 'flags'", encoding="index"),
        _wrong("mixed", TypeError, "events has dtype float16", events=np.ones(4, np.float16)),
        _wrong("columns", ValueError, "at most 2147483648 columns", shape=(2, 2**31 + 1)),
        *_misshapen(_wrong, events=np.ones(2, bool)),
    ),
    ROUNDING,
    Bench(linear=(SCALE, X), moved=_moved),
)
