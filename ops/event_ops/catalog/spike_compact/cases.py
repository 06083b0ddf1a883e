"""Cases of `spike_compact`."""

from __future__ import annotations

import numpy as np

from event_ops.cases import EXACT, Arguments, Case, InvalidCall, benchmark, changes_to
from event_ops.cases.draw import Draw, drawn

DTYPES = ("bool",)
ROUNDING = EXACT


@drawn
def _random(draw: Draw, size: int, rate: float, capacity: int | None = None) -> Arguments:
    return (draw.rng.random(size) < rate,), {"capacity": capacity}


CASES = (
    *(
        Case(name, make)
        for name, make in (
            ("some", _random(37, 0.2)),
            ("none", _random(37, 0)),
            ("all", _random(37, 1)),
            ("no-neurons", _random(0, 0)),
            ("word", _random(8, 0.5)),
            ("less-than-a-word", _random(7, 0.5)),
            ("many", _random(1000, 0.05)),
            ("overflow", _random(50, 0.5, 10)),
            ("room-to-spare", _random(20, 0.3, 33)),
            ("no-room", _random(20, 0.5, 0)),
            ("threads", _random(40_001, 0.01)),
            ("threads-overflow", _random(40_001, 0.01, 250)),
        )
    ),
    benchmark("4k-1%", _random(4000, 0.01)),
    benchmark("100k-1%", _random(100_000, 0.01)),
    benchmark("1M-1%", _random(1_000_000, 0.01)),
)

_wrong = changes_to({"spikes": np.zeros(4, bool)})

INVALID_CALLS = (
    InvalidCall("float", _wrong(spikes=np.zeros(4, np.float32)), TypeError, "spikes has dtype float32"),
    InvalidCall("grid", _wrong(spikes=np.zeros((4, 2), bool)), ValueError, "spikes has 2 dimensions"),
    InvalidCall("negative", _wrong(capacity=-1), ValueError, "capacity is -1"),
    InvalidCall("fraction", _wrong(capacity=2.5), TypeError, "float"),
)
