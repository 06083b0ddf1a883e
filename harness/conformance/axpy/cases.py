"""Cases of `axpy`."""

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, changes_to
from event_ops.cases.draw import Draw, drawn

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

A, X, Y = 0, 1, 2


@drawn
def _random(draw: Draw, size: int) -> Arguments:
    return (draw.numbers(()), draw.numbers(size), draw.numbers(size)), {}


CASES = (
    Case("random", _random(13), differentiable=(A, X, Y)),
    Case("empty", _random(0), differentiable=(A, X, Y)),
    benchmark("1M", _random(1_000_000)),
)

_X = np.ones(3, np.float32)
_wrong = changes_to({"a": np.float32(2), "x": _X, "y": _X})

INVALID_CALLS = (
    _wrong("integer", TypeError, "x has dtype int32", x=np.ones(3, np.int32)),
    _wrong("mixed", TypeError, "y has dtype int32 and x", y=np.ones(3, np.int32)),
    _wrong("matrix", ValueError, "x has 2 dimensions", x=np.ones((3, 3), np.float32)),
    _wrong("short", ValueError, r"y has shape \(2,\); expected \(3,\)", y=_X[:2]),
)
