"""Cases of `unpack_events`."""

from __future__ import annotations

import numpy as np

from event_ops.cases import EXACT, Arguments, Case, InvalidCall, benchmark, changes_to
from event_ops.cases.draw import Draw, drawn

DTYPES = ("uint32",)
ROUNDING = EXACT


@drawn
def _random(draw: Draw, n: int) -> Arguments:
    """Return words of random bits, also behind the last event."""
    return (draw.rng.integers(0, 1 << 32, -(-n // 32)).astype(draw.dtype),), {"n": n}


CASES = (
    Case("some", _random(37)),
    Case("no-neurons", _random(0)),
    Case("words", _random(64)),
    Case("less-than-a-word", _random(7)),
    Case("words-and-more", _random(1000)),
    benchmark("4k", _random(4000)),
    benchmark("100k", _random(100_000)),
    benchmark("1M", _random(1_000_000)),
)

_wrong = changes_to({"words": np.zeros(2, np.uint32)}, n=40)

INVALID_CALLS = (
    InvalidCall("signed", _wrong(words=np.zeros(2, np.int32)), TypeError, "words has dtype int32"),
    InvalidCall("fraction", _wrong(n=40.0), TypeError, "float"),
    InvalidCall("negative", _wrong(words=np.zeros(0, np.uint32), n=-1), ValueError, "n is -1"),
    InvalidCall("short", _wrong(words=np.zeros(1, np.uint32)), ValueError, r"expected \(2,\).*n=40"),
    InvalidCall("long", _wrong(words=np.zeros(3, np.uint32)), ValueError, r"words has shape \(3,\)"),
    InvalidCall("grid", _wrong(words=np.zeros((2, 2), np.uint32)), ValueError, "words has 2 dimensions"),
)
