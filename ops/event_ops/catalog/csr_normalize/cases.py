"""Cases of `csr_normalize`."""

from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, Call, Outs, permutation_of, rows_of, size
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.matrices import MATRIX_2_4, lead_astray

DTYPES = ("float32", "float64")
ROUNDING = Rounding(64)  # adding up a row of 100 may be off by 50, relative to the weights

W, TARGET = 0, 3


@drawn
def _random(
    draw: Draw, shape: Shape, nse: int, *, one: bool = False, permuted: bool = False, **options: Any
) -> Arguments:
    """Return weights of either sign, and a target for each row, or one for all."""
    data, indices, indptr = draw.csr(shape, nse)
    target = draw.rng.uniform(0.5, 2, () if one else shape[0]).astype(draw.dtype)
    places = {"permutation": draw.rng.permutation(nse).astype(indices.dtype)} if permuted else {}
    return (data, indices, indptr, target, draw.events(shape[0], 0.5)), {"shape": shape, **places, **options}


@drawn
def _every_row(draw: Draw) -> Arguments:
    """Return no flags, and a row whose weights are all 0."""
    (data, indices, indptr, target, _), kwargs = _random((6, 7), 40)(*draw)
    data[indptr[2] : indptr[3]] = 0
    return (data, indices, indptr, target), kwargs


@drawn
def _edges(draw: Draw, **options: Any) -> Arguments:
    """Return columns and places out of range, entries of no row, and NaN in rows that are not active."""
    (data, indices, indptr, target, active), kwargs = _random((9, 7), 60, permuted=True, **options)(*draw)
    lead_astray(indices, 7)
    lead_astray(kwargs["permutation"][3:], 60)
    indptr[0], indptr[-3:] = 2, indptr[-3]
    target[~active] = np.nan
    return (data, indices, indptr, target, active), kwargs


@drawn
def _hidden(draw: Draw) -> Arguments:
    """Return NaN as the weights of rows that are not active."""
    (data, indices, indptr, target, active), kwargs = _random((6, 7), 25)(*draw)
    data[np.repeat(~active, np.diff(indptr))] = np.nan
    return (data, indices, indptr, target, active), kwargs


@drawn
def _sized(draw: Draw, size: int, per_row: int, rate: float, permuted: bool) -> Arguments:
    data, indices, indptr = draw.fixed_degree_csr((size, size), per_row)
    places = {"permutation": draw.rng.permutation(data.size).astype(indices.dtype)} if permuted else {}
    target = np.ones(size, draw.dtype)
    return (abs(data), indices, indptr, target, draw.events(size, rate)), {"shape": (size, size), **places}


CASES = (
    Case("random", _random((17, 23), 120), differentiable=(W, TARGET), tolerance=5),
    Case("subtractive", _random((17, 23), 120, subtractive=True), differentiable=(W, TARGET), tolerance=5),
    Case("permuted", _random((17, 23), 120, permuted=True), differentiable=(W, TARGET), tolerance=5),
    Case("one-target", _random((17, 23), 120, one=True, permuted=True, subtractive=True)),
    Case("every-row", _every_row()),
    Case("out-of-range", _edges()),
    Case("out-of-range-subtractive", _edges(subtractive=True)),
    Case("hidden", _hidden()),
    Case("no-entries", _random((5, 4), 0), differentiable=(W, TARGET)),
    Case("no-rows", _random((0, 4), 0)),
    Case("threads", _random((3000, 500), 1_100_000), tolerance=20),
    benchmark("4000-80-100%", _sized(4000, 80, 1, False)),
    benchmark("100000-100-1%", _sized(100_000, 100, 0.01, False)),
    benchmark("100000-100-1%-permuted", _sized(100_000, 100, 0.01, True)),
)

_wrong = changes_to(MATRIX_2_4 | {"target": np.ones(2, np.float32), "active": np.ones(2, bool)}, shape=(2, 4))

INVALID_CALLS = (
    _wrong("integers", TypeError, "data has dtype int32", data=np.ones(3, np.int32)),
    _wrong("one-weight", ValueError, r"data has shape \(\); expected \(3,\)", data=np.float32(1)),
    _wrong("short-indptr", ValueError, "one more than the 2 rows", indptr=np.array([0, 3])),
    _wrong("targets", ValueError, r"target has shape \(4,\); expected", target=np.ones(4, "f")),
    _wrong("whole-target", TypeError, "target has dtype int32 and", target=np.ones(2, np.int32)),
    _wrong("numbers", TypeError, "active has dtype float32; expected bool", active=np.ones(2, "f")),
    _wrong("flags", ValueError, "one flag per row of shape", active=np.ones(4, bool)),
    _wrong("places", ValueError, r"permutation has shape \(2", permutation=np.arange(2)),
)


def _moved(call: Call, outs: Outs) -> int:
    """Count the weights of active rows twice, and their structure."""
    arrays = call.data, call.data, call.indices, *permutation_of(call)
    return size(_active(call), np.asarray(call.target)) + rows_of(call.indptr, _active(call), *arrays)


def _active(call: Call) -> np.ndarray:
    return np.ones(call.shape[0], bool) if call.active is None else call.active


BENCH = Bench(carried={0: 0}, moved=_moved)
