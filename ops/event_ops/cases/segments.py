"""Cases of reductions of segments: draws, mistakes, and the cases of maxima and minima."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, benchmark, changes_to
from event_ops.cases.draw import Draw, drawn

DATA = 0


@drawn
def random_segments(
    draw: Draw, count: int, num_segments: int, row: tuple[int, ...] = (), *, ascending: bool = False
) -> Arguments:
    """Return data in random segments, some of which may be empty."""
    ids = draw.rng.integers(0, max(num_segments, 1), count).astype(draw.index_dtype)
    kwargs: dict[str, Any] = {"num_segments": num_segments}
    if ascending:
        ids.sort()
        kwargs["indices_are_sorted"] = True
    return (draw.numbers((count, *row)), ids), kwargs


@drawn
def full_segments(draw: Draw, count: int, num_segments: int, row: tuple[int, ...] = ()) -> Arguments:
    """Return data in random segments, each of which has some: an extremum of none has no derivative."""
    (data, ids), kwargs = random_segments(count, num_segments, row)(*draw)
    ids[draw.rng.permutation(count)[:num_segments]] = np.arange(num_segments)
    return (data, ids), kwargs


@drawn
def ids_out_of_range(draw: Draw, mode: str, row: tuple[int, ...] = ()) -> Arguments:
    """Return ids out of range on either side, up to the limits of the dtype."""
    limits = np.iinfo(draw.index_dtype)
    low = [-1, -5, limits.min] if limits.min < 0 else []
    ids = np.array([0, 4, 5, 4, limits.max, *low], draw.index_dtype)
    return (draw.numbers((ids.size, *row)), ids), {"num_segments": 5, "mode": mode}


@drawn
def clipped_on_threads(draw: Draw) -> Arguments:
    """Return different ids, clipped to one segment, on both sides of where threads divide the data."""
    (data, ids), kwargs = random_segments(40_000, 400, ascending=True)(*draw)
    return (data, ids - ids[ids.size // 2 + 5000]), kwargs | {"num_segments": 30, "mode": "clip"}


BENCHMARKS = tuple(
    benchmark(name, random_segments(count, size, ascending=ascending), tolerance=50)
    for name, count, size, ascending in (
        ("10k-into-4k", 10_000, 4000, False),
        ("1M-into-100k", 1_000_000, 100_000, False),
        ("1M-into-100k-sorted", 1_000_000, 100_000, True),
        ("10M-into-1M", 10_000_000, 1_000_000, False),
    )
)

EXTREMA = (
    *(
        Case(name, make, differentiable=(DATA,))
        for name, make in (
            ("random", full_segments(50, 12)),
            ("rows", full_segments(25, 6, (3,))),
            ("blocks", full_segments(12, 4, (2, 2))),
        )
    ),
    *(
        Case(name, make)
        for name, make in (
            ("empty-segments", random_segments(6, 9)),
            ("edges", ids_out_of_range("drop")),
            ("edges-clipped", ids_out_of_range("clip", (2, 2))),
            ("no-data", random_segments(0, 4)),
            ("no-segments", random_segments(4, 0)),
            ("threads", random_segments(70_000, 900)),
            ("threads-rows", random_segments(40_000, 50, (2,))),
            ("threads-sorted", random_segments(40_000, 300, (2,), ascending=True)),
            ("threads-clipped", clipped_on_threads()),
        )
    ),
    *BENCHMARKS,
)

_D, _I = np.ones(3, np.float32), np.zeros(3, np.int32)
_wrong = changes_to({"data": _D, "segment_ids": _I}, num_segments=3)

INVALID_CALLS = (
    InvalidCall("bool", _wrong(data=np.ones(3, bool)), TypeError, "data has dtype bool"),
    InvalidCall("float-ids", _wrong(segment_ids=_D), TypeError, "segment_ids has dtype float32"),
    InvalidCall("grid-of-ids", _wrong(data=_D[None], segment_ids=_I[None]), ValueError, "2 dimensions"),
    InvalidCall("scalar", _wrong(data=np.float32(1)), ValueError, r"data has shape \(\)"),
    InvalidCall("short", _wrong(data=_D[:2]), ValueError, r"data has shape \(2,\) and segment_ids \(3,\)"),
    InvalidCall(
        "float-number", _wrong(num_segments=3.0), TypeError, "num_segments is 3.0; expected an integer"
    ),
    InvalidCall("negative-number", _wrong(num_segments=-1), ValueError, "num_segments is -1; expected >= 0"),
    InvalidCall("mode", _wrong(mode="wrap"), ValueError, "mode is 'wrap'; expected one of 'drop'"),
)
COMPLEX_DATA = InvalidCall(
    "complex", _wrong(data=_D.astype(np.complex64)), TypeError, "data has dtype complex64"
)
