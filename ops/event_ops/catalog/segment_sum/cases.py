"""Cases of `segment_sum`."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, Mistake, Rounding, benchmark, changes_to
from event_ops.cases.draw import Draw, drawn

DTYPES = ("float32", "float64", "complex64", "int32")
ROUNDING = Rounding(0, sums=True)

DATA = 0


@drawn
def _random(
    draw: Draw, count: int, num_segments: int, row: tuple[int, ...] = (), ascending: bool = False
) -> Arguments:
    ids = draw.rng.integers(0, max(num_segments, 1), count).astype(draw.index_dtype)
    kwargs: dict[str, Any] = {"num_segments": num_segments}
    if ascending:
        ids.sort()
        kwargs["indices_are_sorted"] = True
    return (draw.numbers((count, *row)), ids), kwargs


@drawn
def _edges(draw: Draw, mode: str, row: tuple[int, ...] = ()) -> Arguments:
    """Return ids out of range on either side, up to the limits of the dtype."""
    limits = np.iinfo(draw.index_dtype)
    low = [-1, -5, limits.min] if limits.min < 0 else []
    ids = np.array([0, 4, 5, 4, limits.max, *low], draw.index_dtype)
    return (draw.numbers((ids.size, *row)), ids), {"num_segments": 5, "mode": mode}


@drawn
def _sorted_clipped(draw: Draw) -> Arguments:
    """Return different ids, clipped to one segment, on both sides of where threads divide the data."""
    (data, ids), kwargs = _random(40_000, 400, ascending=True)(*draw)
    return (data, ids - ids[ids.size // 2 + 5000]), kwargs | {"num_segments": 30, "mode": "clip"}


CASES = (
    *(
        Case(name, make, differentiable=(DATA,), tolerance=tolerance)
        for name, make, tolerance in (
            ("random", _random(50, 20), 5),
            ("rows", _random(25, 6, (3,)), 5),
            ("edges", _edges("drop"), 5),
            ("edges-clipped", _edges("clip", (2, 2)), 5),
            ("no-data", _random(0, 4), 1),
            ("no-segments", _random(4, 0), 1),
            ("threads", _random(70_000, 900), 200),
            ("threads-sorted", _random(40_000, 300, (2,), ascending=True), 500),
        )
    ),
    Case("threads-clipped", _sorted_clipped(), tolerance=20_000, note="one sum of 30,000 terms"),
    *(
        benchmark(name, _random(count, size, ascending=ascending), tolerance=50)
        for name, count, size, ascending in (
            ("10k-into-4k", 10_000, 4000, False),
            ("1M-into-100k", 1_000_000, 100_000, False),
            ("1M-into-100k-sorted", 1_000_000, 100_000, True),
            ("10M-into-1M", 10_000_000, 1_000_000, False),
        )
    ),
)

_D, _I = np.ones(3, np.float32), np.zeros(3, np.int32)
_wrong = changes_to({"data": _D, "segment_ids": _I}, num_segments=3)

MISTAKES = (
    Mistake("bool", _wrong(data=np.ones(3, bool)), TypeError, "data has dtype bool"),
    Mistake("float-ids", _wrong(segment_ids=_D), TypeError, "segment_ids has dtype float32"),
    Mistake("grid-of-ids", _wrong(data=_D[None], segment_ids=_I[None]), ValueError, "2 dimensions"),
    Mistake("scalar", _wrong(data=np.float32(1)), ValueError, r"data has shape \(\)"),
    Mistake("short", _wrong(data=_D[:2]), ValueError, r"data has shape \(2,\) and segment_ids \(3,\)"),
    Mistake("float-number", _wrong(num_segments=3.0), TypeError, "num_segments is 3.0; expected an integer"),
    Mistake("negative-number", _wrong(num_segments=-1), ValueError, "num_segments is -1; expected >= 0"),
    Mistake("mode", _wrong(mode="wrap"), ValueError, "mode is 'wrap'; expected one of 'drop'"),
)
