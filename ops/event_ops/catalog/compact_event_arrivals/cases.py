"""Cases of `compact_event_arrivals`."""

from functools import partial
from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, Call, Outs, rows_of
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.histories import around_arrivals, drawn_history, invalid_histories, listed, recent_events
from event_ops.cases.matrices import WORDS_2_4, packed

DTYPES = ("float32", "float64")
ROUNDING = Rounding(100)  # for sums of up to a hundred terms, whose codes have either sign

HISTORY, SCALE = 0, 3


def _in_parts(draw: Draw, shape: Shape, nse: int, widths: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the words part by part, and indptr with a row for each part."""
    parts = len(widths)
    drawn = [draw.words((shape[0], width), nse // parts, shape[1]) for width in widths]
    ends = np.stack([indptr + part * (nse // parts) for part, (_, indptr) in enumerate(drawn)])
    return np.concatenate([words for words, _ in drawn]), ends.astype(draw.index_dtype)


@drawn
def _random(
    draw: Draw,
    shape: Shape,
    nse: int,
    slots: int,
    events: str = "bool",
    *,
    parts: int = 1,
    by_row: bool = False,
    slot: int = 2,
    initial: bool = False,
    rate: float = 0.4,
    starts: tuple[int, ...] = (),
    narrow: bool = False,
) -> Arguments:
    """Return random arrays; `events`: "bits", "ids" or a kind of `Draw.events`; 0 `parts`: indptr is flat."""
    rows, columns = shape
    widths = np.diff(starts).tolist() if starts else [-(-columns // max(parts, 1))] * max(parts, 1)
    entries, indptr = _in_parts(draw, (rows * slots, columns), nse, widths)
    if narrow:
        entries = (entries & np.uint32((1 << max(columns - 1, 0).bit_length()) - 1)).astype(np.uint16)
    history, encoding = drawn_history(draw, (slots, rows), rate, events)
    static: dict[str, Any] = {"shape": shape, **encoding}
    if starts:
        static["starts"] = np.array(starts, draw.index_dtype)
    if initial:
        static["initial"] = draw.numbers((columns,))
    scale = draw.numbers((rows,) if by_row else ())
    return (history, entries, indptr if parts else indptr[0], scale, np.int32(slot)), static


@drawn
def _any_words(draw: Draw) -> Arguments:
    """Return words of any bits, many with columns that are out of range, and NaN of silent neurons."""
    (history, entries, indptr, scale, slot), static = _random((6, 9), 90, 4, parts=2, by_row=True)(*draw)
    history[:, 1], scale[1] = False, np.nan
    return (
        history,
        draw.rng.integers(0, 1 << 32, entries.size).astype(np.uint32),
        indptr,
        scale,
        slot,
    ), static


@drawn
def _sized(draw: Draw, neurons: int, per_row: int, rate: float, parts: int, narrow: bool) -> Arguments:
    """Return spike ids, and `per_row` synapses for each neuron, with random delays of 1 to 31 steps."""
    slots, width = 32, -(-neurons // parts)
    chances, ends, words, before = np.r_[0, np.full(slots - 1, 1 / (slots - 1))], [], [], 0
    for _ in range(parts):
        counts = draw.rng.multinomial(per_row // parts, chances, neurons).reshape(-1)
        ends.append(before + np.concatenate([[0], np.cumsum(counts)]))
        before = ends[-1][-1]
        indices = draw.rng.integers(0, width, counts.sum())
        codes = draw.rng.integers(-(2**10), 2**10, indices.size)
        words.append(indices.astype(np.uint16) if narrow else packed(codes, indices, neurons))
    history = listed(draw.rng.random((slots, neurons)) < rate, neurons // 16)
    args = history, np.concatenate(words), np.stack(ends).astype(draw.index_dtype), draw.numbers(())
    return (*args, np.int32(5)), {"shape": (neurons, neurons), "encoding": "ids"}


_summed = partial(Case, tolerance=20)
_in_scale = partial(_summed, differentiable=(SCALE,))
_in_both = partial(_summed, differentiable=(HISTORY, SCALE))
_threads = partial(_random, (400, 500), 1 << 20, 3, "ids", parts=3, rate=0.1)
_starts = partial(_random, (9, 6), 90, 3, "float", starts=(0, 5, 6), by_row=True)

CASES = (
    _in_scale("random", _random((17, 11), 300, 5)),
    _in_scale("flat", _random((17, 11), 300, 5, parts=0)),
    _in_both("parts-float", _random((17, 11), 300, 5, "float", parts=3, by_row=True, slot=98)),
    _in_both("one-float", _random((9, 6), 90, 3, "float")),
    _in_scale("bits", _random((37, 11), 300, 3, "bits", parts=2)),
    _in_scale("ids", _random((37, 11), 300, 3, "ids", parts=2, by_row=True)),
    _in_scale("counts", _random((37, 11), 300, 3, "uint8", parts=2), tolerance=50),
    _in_scale("initial", _random((17, 11), 300, 5, initial=True)),
    _summed("initial-ids", _random((17, 11), 300, 5, "ids", parts=4, initial=True, slot=-1)),
    _in_scale("starts", _random((17, 11), 300, 5, starts=(0, 2, 2, 11))),
    _in_both("starts-float", _starts(initial=True)),
    _in_scale("narrow", _random((17, 11), 300, 5, narrow=True)),
    _in_both("narrow-starts", _starts(narrow=True)),
    Case("narrow-threads", _threads(narrow=True), tolerance=200),
    # Silent neurons add exactly 0, whatever the scale.
    Case("any-words", _any_words(), tolerance=5),
    _summed("more-parts-than-columns", _random((4, 3), 40, 2, parts=5)),
    Case("no-rows", _random((0, 4), 2, 2, parts=2)),
    Case("no-columns", _random((4, 0), 4, 2, parts=2)),
    Case("threads", _threads(), tolerance=200),
    benchmark("4000-80-1.00%-1-parts", _sized(4000, 80, 0.01, 1, False), 200),
    benchmark("100000-100-0.10%-1-parts", _sized(100_000, 100, 0.001, 1, False), 200),
    benchmark("100000-100-0.10%-2-parts", _sized(100_000, 100, 0.001, 2, False), 200),
    benchmark("narrow-100000-100-0.10%-2-parts", _sized(100_000, 100, 0.001, 2, True), 200),
)

_INDPTR = np.array([[0, 1, 3, 3, 3, 3, 3]], np.int32)
_wrong = changes_to(
    {"history": np.ones((3, 2), bool)}
    | WORDS_2_4
    | {"indptr": _INDPTR, "scale": np.float32(1), "slot": np.int32(0)},
    shape=(2, 4),
)

INVALID_CALLS = (
    *invalid_histories(_wrong),
    _wrong("signed", TypeError, "entries has dtype int32", entries=np.zeros(3, np.int32)),
    _wrong("whole-scale", TypeError, "scale has dtype int32", scale=np.int32(1)),
    _wrong("scales", ValueError, r"scale has shape \(3,\).*one per row", scale=np.ones(3, "f")),
    _wrong("by-neuron", ValueError, r"indptr has shape \(1, 3\).*slots", indptr=np.array([[0, 1, 3]])),
    _wrong("no-parts", ValueError, r"indptr has shape \(0, 7\)", indptr=np.zeros((0, 7), int)),
    _wrong("starts", ValueError, r"starts has shape \(3,\).*each of 1 parts", starts=np.array([0, 2, 4])),
    _wrong("float-starts", TypeError, "starts has dtype float", starts=np.array([0.0, 4.0])),
    _wrong("columns", ValueError, "at most 2147483648 columns", shape=(2, 2**31 + 1)),
)


def _moved(call: Call, outs: Outs) -> int:
    """Count the history, the rows of active events, and the sums."""
    active = recent_events(call)
    ends = np.reshape(call.indptr, (-1, active.size + 1))
    return around_arrivals(call, outs, active) + sum(rows_of(part, active, call.entries) for part in ends)


BENCH = Bench(moved=_moved)
