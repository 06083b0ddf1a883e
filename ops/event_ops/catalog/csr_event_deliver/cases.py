"""Cases of `csr_event_deliver`."""

from functools import partial
from itertools import pairwise

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, Call, Outs, active_flags, each, entries_of, rows_of, size
from event_ops.cases.draw import Draw, Shape, drawn, stored_as
from event_ops.cases.matrices import MATRIX_2_4, lead_astray

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

BUFFER, DATA, SPIKES = 0, 1, 5


@drawn
def _random(
    draw: Draw,
    shape: Shape,
    nse: int,
    slots: int,
    spikes: str = "bool",
    one: bool = False,
    delays: str = "int32",
    slot: int = 2,
) -> Arguments:
    """Return random arrays; `one`: one weight and one delay for all."""
    data, indices, indptr = draw.csr(shape, nse)
    active = draw.events(shape[0], 0.4, spikes)
    steps = draw.rng.integers(0, slots, () if one else nse).astype(delays)
    buffer = draw.numbers((slots, shape[1]))
    weights = draw.numbers(()) if one else data
    return (buffer, weights, indices, indptr, steps, active, np.int32(slot)), {"shape": shape}


@drawn
def _out_of_range(draw: Draw) -> Arguments:
    """Return columns out of range, and NaN as the weights of silent neurons."""
    args, kwargs = _random((6, 7), 30, 4, slot=-3)(*draw)
    _, data, indices, indptr, _, spikes, _ = args
    lead_astray(indices, 7)
    data[~spikes[np.repeat(np.arange(6), np.diff(indptr))]] = np.nan
    return args, kwargs


@drawn
def _ordered(draw: Draw) -> Arguments:
    """Return long rows in the order of their delays: each thread adds to a range of slots."""
    args, kwargs = _random((4, 40), 480, 5, "float", delays="uint8")(*draw)
    _, _, _, indptr, steps, *_ = args
    for low, high in pairwise(indptr):
        steps[low:high].sort()
    return args, kwargs


@drawn
def _sized(draw: Draw, neurons: int, per_row: int, rate: float) -> Arguments:
    shape, slots = (neurons, neurons), 32
    arrays = draw.fixed_degree_csr(shape, per_row)
    delays = draw.rng.integers(1, slots, arrays[1].size).astype(np.uint8)
    spikes = draw.events(neurons, rate)
    return (np.zeros((slots, neurons), draw.dtype), *arrays, delays, spikes, np.int32(5)), {"shape": shape}


_case = partial(Case, tolerance=20)
_BYTES = _random((17, 11), 120, 5, "float", delays="uint8", slot=98)

CASES = (
    _case("random", _random((17, 11), 120, 5), differentiable=(BUFFER, DATA)),
    _case("random-float", _BYTES, differentiable=(BUFFER, DATA, SPIKES)),
    _case("one-float", _random((9, 6), 50, 3, "float", one=True), differentiable=(BUFFER, DATA, SPIKES)),
    Case("out-of-range", _out_of_range(), tolerance=5),  # of columns; delays would be refused
    _case("ordered", _ordered()),
    Case("no-rows", _random((0, 4), 3, 2)),
    Case("no-columns", _random((4, 0), 3, 2)),
    _case("float16", stored_as("float16", DATA, _random((17, 11), 120, 5))),
    _case("bfloat16", stored_as("bfloat16", DATA, _random((17, 11), 120, 5, "float"))),
    benchmark("4000-80-1.00%", _sized(4000, 80, 0.01)),
    benchmark("40000-80-1.00%", _sized(40_000, 80, 0.01)),
    benchmark("100000-100-1.00%", _sized(100_000, 100, 0.01)),
)

_wrong = changes_to(
    {"buffer": np.ones((3, 4), np.float32)}
    | MATRIX_2_4
    | {"delays": np.int32(1), "spikes": np.ones(2, bool), "slot": np.int32(0)},
    shape=(2, 4),
)

INVALID_CALLS = (
    _wrong("integer", TypeError, "buffer has dtype int32", buffer=np.ones((3, 4), np.int32)),
    _wrong("mixed", TypeError, "data has dtype int32", data=np.ones(3, np.int32)),
    _wrong("integer-spikes", TypeError, "spikes has dtype int8", spikes=np.ones(2, np.int8)),
    _wrong("float-delays", TypeError, "delays has dtype float", delays=1.5),
    _wrong("float-slot", TypeError, "slot has dtype float32", slot=np.float32(1)),
    _wrong("narrow-slot", TypeError, "slot has dtype int8", slot=np.int8(1)),
    _wrong("slots", ValueError, r"slot has shape \(3,\)", slot=np.zeros(3, np.int32)),
    _wrong("short-delays", ValueError, r"delays has shape \(2,\)", delays=np.ones(2, np.int32)),
    _wrong("flat", ValueError, "buffer has 1 dimensions", buffer=np.ones(4, "f")),
    _wrong("narrow", ValueError, r"expected \(3, 4\): slots, and one", buffer=np.ones((3, 5), "f")),
    _wrong("no-slots", ValueError, "at least one slot", buffer=np.ones((0, 4), "f")),
    _wrong("short-spikes", ValueError, "one element per row", spikes=np.ones(4, bool)),
)


def _moved(call: Call, outs: Outs) -> int:
    """Count the places of the buffer where something arrives, read and written; at most all of it."""
    active = active_flags(call.spikes, call.shape[0])
    reached = min(entries_of(call.indptr, active), call.buffer.size)
    matrix = rows_of(call.indptr, active, call.data, call.indices, call.delays)
    return size(call.spikes) + matrix + 2 * reached * each(call.buffer)


BENCH = Bench(carried={0: 0}, moved=_moved)
