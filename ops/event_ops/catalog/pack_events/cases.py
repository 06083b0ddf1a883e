"""Cases of `pack_events`."""

from __future__ import annotations

import numpy as np

from event_ops.cases import EXACT, Arguments, Case, InvalidCall, benchmark, changes_to
from event_ops.cases.draw import Draw, drawn

DTYPES = ("bool",)
ROUNDING = EXACT


@drawn
def _random(draw: Draw, size: int, rate: float) -> Arguments:
    return (draw.rng.random(size) < rate,), {}


CASES = (
    Case("some", _random(37, 0.4)),
    Case("all", _random(71, 1)),
    Case("no-neurons", _random(0, 0)),
    Case("words", _random(64, 0.5)),
    Case("less-than-a-byte", _random(7, 0.5)),
    Case("words-and-more", _random(1000, 0.3)),
    benchmark("4k-1%", _random(4000, 0.01)),
    benchmark("100k-1%", _random(100_000, 0.01)),
    benchmark("1M-1%", _random(1_000_000, 0.01)),
)

_wrong = changes_to({"events": np.zeros(4, bool)})

INVALID_CALLS = (
    InvalidCall("float", _wrong(events=np.zeros(4, np.float32)), TypeError, "events has dtype float32"),
    InvalidCall("grid", _wrong(events=np.zeros((4, 2), bool)), ValueError, "events has 2 dimensions"),
)
