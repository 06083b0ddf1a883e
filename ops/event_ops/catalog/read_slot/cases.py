"""Cases of `read_slot`."""

import numpy as np

from event_ops.cases import EXACT, Arguments, Case, benchmark, changes_to
from event_ops.cases.bench import Bench, Call, Outs, size
from event_ops.cases.draw import Draw, drawn

DTYPES = ("float32", "float64")
ROUNDING = EXACT

BUFFER = 0


@drawn
def _random(draw: Draw, shape: tuple[int, ...], slot: int) -> Arguments:
    return (draw.numbers(shape), np.int32(slot)), {}


CASES = (
    Case("random", _random((5, 11), 2), differentiable=(BUFFER,)),
    Case("channels", _random((3, 2, 4), 7), differentiable=(BUFFER,)),
    Case("negative", _random((3, 4), -1), differentiable=(BUFFER,)),
    Case("no-columns", _random((3, 0), 1)),
    Case("one-each", _random((4,), 1)),
    benchmark("4k", _random((32, 4000), 1)),
    benchmark("100k", _random((32, 100_000), 1)),
    benchmark("1M", _random((8, 1_000_000), 1)),
)

_B = np.zeros((2, 3), np.float32)
_wrong = changes_to({"buffer": _B, "slot": 0})

INVALID_CALLS = (
    _wrong("bool", TypeError, "buffer has dtype bool", buffer=_B.astype(bool)),
    _wrong("fraction", TypeError, "slot has dtype float", slot=0.5),
    _wrong("narrow", TypeError, "slot has dtype int8", slot=np.int8(0)),
    _wrong("slots", ValueError, r"slot has shape \(2,\)", slot=np.zeros(2, np.int32)),
    _wrong("no-slots", ValueError, "at least one slot", buffer=_B[:0]),
    _wrong("scalar", ValueError, "at least one slot", buffer=np.float32(1)),
)


def _moved(call: Call, outs: Outs) -> int:
    """Count one slot, which is read, handed out and cleared; the rest of the buffer stays."""
    return 3 * size(outs[0])


BENCH = Bench(carried={0: 1}, moved=_moved)
