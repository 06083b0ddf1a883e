"""Cases of `csr_rewire`."""

from typing import Any

import numpy as np

from event_ops.cases import EXACT, Arguments, Case, benchmark, changes_to
from event_ops.cases.bench import Bench, Call, Outs, size
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.matrices import STRUCTURE_2_4, lead_astray

# Those of the indices: there is no other input.
DTYPES = ("int32", "int64")
ROUNDING = EXACT

ALONE: dict[str, Any] = {"allow_autapses": False, "allow_multapses": False}


@drawn
def _random(draw: Draw, shape: Shape, nse: int, share: float = 0.4, **options: Any) -> Arguments:
    _, indices, indptr = draw.csr(shape, nse)
    rewired = draw.events(nse, share)
    return (indices, indptr, rewired, np.uint32(77), np.int32(-3)), {"shape": shape, **options}


@drawn
def _out_of_range(draw: Draw) -> Arguments:
    """Return free slots of every kind, some of which become synapses, and slots of no row."""
    (indices, indptr, *others), kwargs = _random((9, 7), 60, **ALONE)(*draw)
    lead_astray(indices, 7)
    indptr[0], indptr[-3:] = 2, indptr[-3]
    return (indices, indptr, *others), kwargs


@drawn
def _given(draw: Draw, **options: Any) -> Arguments:
    """Return targets, some of them not allowed or no columns."""
    (indices, indptr, rewired, *_), kwargs = _random((9, 7), 60, **options)(*draw)
    targets = draw.csr((9, 7), 60)[1]
    lead_astray(targets, 7)
    return (indices, indptr, rewired), kwargs | {"targets": targets}


@drawn
def _sized(draw: Draw, size: int, per_row: int, **options: Any) -> Arguments:
    _, indices, indptr = draw.fixed_degree_csr((size, size), per_row)
    words = np.uint32(1), np.int32(0)
    return (indices, indptr, draw.events(indices.size, 0.3), *words), {"shape": (size, size), **options}


CASES = (
    Case("random", _random((17, 23), 120)),
    Case("alone", _random((17, 23), 120, **ALONE)),
    Case("no-autapses", _random((5, 3), 60, allow_autapses=False)),
    # Rows have more slots than columns.
    Case("crowded", _random((4, 9), 60, 0.9, allow_multapses=False)),
    Case("out-of-range", _out_of_range()),
    Case("given", _given()),
    Case("given-alone", _given(**ALONE)),
    Case("no-entries", _random((5, 4), 0)),
    Case("no-rows", _random((0, 4), 0)),
    Case("no-columns", _random((4, 0), 3)),
    Case("threads", _random((700, 500), 40_000, **ALONE)),
    benchmark("4000-80", _sized(4000, 80, **ALONE)),
    benchmark("100000-100", _sized(100_000, 100, **ALONE)),
)

_wrong = changes_to(
    STRUCTURE_2_4 | {"rewired": np.ones(3, bool), "seed": np.uint32(1), "step": np.int32(0)}, shape=(2, 4)
)

INVALID_CALLS = (
    _wrong("float-indices", TypeError, "indices has dtype float32", indices=np.zeros(3, "f")),
    _wrong("short-indptr", ValueError, "one more than the 2 rows", indptr=np.array([0, 3])),
    _wrong("numbers", TypeError, "rewired has dtype float32; exp", rewired=np.ones(3, "f")),
    _wrong("short", ValueError, r"rewired has shape \(2,\)", rewired=np.ones(2, bool)),
    _wrong("no-seed", TypeError, "is given no seed; expected seed and step, to draw", seed=None),
    _wrong("neither", TypeError, "is given no seed and no step", seed=None, step=None),
    _wrong("both", TypeError, "is given targets and a seed or a s", targets=np.zeros(3, np.int32)),
    _wrong(
        "short-targets",
        ValueError,
        r"targets has shape \(2,\)",
        seed=None,
        step=None,
        targets=np.zeros(2, np.int32),
    ),
    _wrong("steps", ValueError, r"step has shape \(2,\)", step=np.ones(2, np.int32)),
    _wrong("too-wide", ValueError, "expected at most", shape=(2, 2**31)),
)


def _moved(call: Call, outs: Outs) -> int:
    """Count flags and row pointers, and the index of each slot that moves, which is written."""
    moves = int(np.count_nonzero(call.rewired))
    return size(call.rewired, call.indptr) + moves * call.indices.itemsize


BENCH = Bench(carried={0: 0}, moved=_moved)
