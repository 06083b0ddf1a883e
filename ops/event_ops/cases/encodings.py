"""Cases of the operators that change the encoding of events: flags, bits and ids."""

import numpy as np

from event_ops.cases import EXACT, Arguments, Case, OperatorCases, benchmark, changes_to
from event_ops.cases.draw import Draw, drawn


@drawn
def _flags(draw: Draw, size: int, rate: float, **options: int | None) -> Arguments:
    return (draw.rng.random(size) < rate,), {**options}


@drawn
def _words(draw: Draw, n: int) -> Arguments:
    """Return words of random bits, also behind the last event."""
    return (draw.rng.integers(0, 1 << 32, -(-n // 32)).astype(draw.dtype),), {"n": n}


_SIZES = (("4k", 4000), ("100k", 100_000), ("1M", 1_000_000))
_RARE = tuple(benchmark(f"{name}-1%", _flags(size, 0.01)) for name, size in _SIZES)

_flag = changes_to({"events": np.zeros(4, bool)})
pack_events = OperatorCases(
    ("bool",),
    (
        Case("some", _flags(37, 0.4)),
        Case("all", _flags(71, 1)),
        Case("no-neurons", _flags(0, 0)),
        Case("words", _flags(64, 0.5)),
        Case("less-than-a-byte", _flags(7, 0.5)),
        Case("words-and-more", _flags(1000, 0.3)),
        *_RARE,
    ),
    (
        _flag("float", TypeError, "events has dtype float32", events=np.zeros(4, np.float32)),
        _flag("grid", ValueError, "events has 2 dimensions", events=np.zeros((4, 2), bool)),
    ),
    EXACT,
)

_word = changes_to({"words": np.zeros(2, np.uint32)}, n=40)
unpack_events = OperatorCases(
    ("uint32",),
    (
        Case("some", _words(37)),
        Case("no-neurons", _words(0)),
        Case("words", _words(64)),
        Case("less-than-a-word", _words(7)),
        Case("words-and-more", _words(1000)),
        *(benchmark(name, _words(size)) for name, size in _SIZES),
    ),
    (
        _word("signed", TypeError, "words has dtype int32", words=np.zeros(2, np.int32)),
        _word("fraction", TypeError, "n is 40.0; expected an integer", n=40.0),
        _word("negative", ValueError, "n is -1", words=np.zeros(0, np.uint32), n=-1),
        _word("short", ValueError, r"expected \(2,\).*n=40", words=np.zeros(1, np.uint32)),
        _word("long", ValueError, r"words has shape \(3,\)", words=np.zeros(3, np.uint32)),
        _word("grid", ValueError, "words has 2 dimensions", words=np.zeros((2, 2), np.uint32)),
    ),
    EXACT,
)

_spikes = changes_to({"spikes": np.zeros(4, bool)})
spike_compact = OperatorCases(
    ("bool",),
    (
        Case("some", _flags(37, 0.2)),
        Case("none", _flags(37, 0)),
        Case("all", _flags(37, 1)),
        Case("no-neurons", _flags(0, 0)),
        Case("word", _flags(8, 0.5)),
        Case("less-than-a-word", _flags(7, 0.5)),
        Case("many", _flags(1000, 0.05)),
        Case("overflow", _flags(50, 0.5, capacity=10)),
        Case("room-to-spare", _flags(20, 0.3, capacity=33)),
        Case("no-room", _flags(20, 0.5, capacity=0)),
        Case("threads", _flags(40_001, 0.01)),
        Case("threads-overflow", _flags(40_001, 0.01, capacity=250)),
        *_RARE,
    ),
    (
        _spikes("float", TypeError, "spikes has dtype float32", spikes=np.zeros(4, np.float32)),
        _spikes("grid", ValueError, "spikes has 2 dimensions", spikes=np.zeros((4, 2), bool)),
        _spikes("negative", ValueError, "capacity is -1", capacity=-1),
        _spikes("fraction", TypeError, "capacity is 2.5; expected an integer", capacity=2.5),
    ),
    EXACT,
)
