"""Cases of `stdp_on_post`."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, stdp
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.matrices import lead_astray
from event_ops.cases.operations import stdp_change

DTYPES = ("float32", "float64")
ROUNDING = Rounding(4)

W, SPIKES, X = 0, 4, 5

RULE: dict[str, Any] = {"A_plus": 0.6, "w_min": 0.1, "w_max": 0.9}


def _transposed(indices: np.ndarray, indptr: np.ndarray, columns: int) -> tuple[np.ndarray, ...]:
    """Return rows, indptr and permutation: the entries of a CSR structure ordered by column, then by row."""
    dtype = indices.dtype
    permutation = np.argsort(indices, kind="stable")
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))[permutation]
    ends = np.searchsorted(indices[permutation], np.arange(columns + 1))
    return rows.astype(dtype), ends.astype(dtype), permutation.astype(dtype)


@drawn
def _random(draw: Draw, shape: Shape, nse: int, spikes: str = "bool") -> Arguments:
    """Return weights within the bounds; some are pushed beyond, downwards where a float spike is < 0."""
    _, indices, indptr = draw.csr(shape, nse)
    w = draw.rng.uniform(0.11, 0.89, nse).astype(draw.dtype)
    active = draw.events(shape[1], 0.4, spikes)
    x_pre = draw.rng.uniform(0, 2, shape[0]).astype(draw.dtype)
    structure = _transposed(indices, indptr, shape[1])
    return (w, *structure, active, x_pre), {"shape": shape, **RULE}


@drawn
def _each(draw: Draw) -> Arguments:
    """Return a rate and bounds for each weight."""
    args, kwargs = _random((17, 23), 120)(*draw)
    low, high, rate = draw.rng.uniform((0, 0.5, 0), (0.4, 1, 1), (120, 3)).astype(draw.dtype).T
    return args, kwargs | {"A_plus": rate, "w_min": low, "w_max": high}


@drawn
def _edges(draw: Draw) -> Arguments:
    """Return weights out of bounds, not finite or -0, rows and places out of range, entries of no column."""
    (w, rows, indptr, permutation, *others), kwargs = _random((9, 7), 60)(*draw)
    w[::4], w[1::9], w[2::9], w[3::9] = 5, np.nan, np.inf, -0.0
    lead_astray(rows, 9)
    lead_astray(permutation[3:], 60)
    indptr[0], indptr[-3:] = 2, indptr[-3]
    return (w, rows, indptr, permutation, *others), kwargs


@drawn
def _sized(draw: Draw, neurons: int, per_row: int, rate: float) -> Arguments:
    shape = (neurons, neurons)
    _, indices, indptr = draw.fixed_degree_csr(shape, per_row)
    structure = _transposed(indices, indptr, neurons)
    w, x_pre = draw.rng.random(indices.size).astype(draw.dtype), draw.rng.random(neurons).astype(draw.dtype)
    spikes = draw.events(neurons, rate)
    rule = {"A_plus": 0.01, "w_min": 0.0, "w_max": 1.0}
    return (w, *structure, spikes, x_pre), {"shape": shape, **rule}


CASES = (
    Case("random", _random((17, 23), 120), differentiable=(W, X)),
    Case("random-float", _random((17, 23), 120, "float"), differentiable=(W, SPIKES, X)),
    Case("each", _each(), differentiable=(W, X)),
    Case("edges", _edges()),
    Case("no-entries", _random((5, 4), 0), differentiable=(W, X)),
    Case("no-rows", _random((0, 4), 0), differentiable=(W, X)),
    Case("threads", _random((500, 3000), 1_100_000)),
    *(
        benchmark(f"{neurons}-{per_row}-{rate:.2%}", _sized(neurons, per_row, rate))
        for neurons, per_row, rate in ((4000, 80, 0.01), (40_000, 80, 0.01), (100_000, 100, 0.01))
    ),
)

_wrong = changes_to(
    {
        "w": np.ones(3, np.float32),
        "rows": np.zeros(3, np.int32),
        "indptr": np.array([0, 1, 3, 3, 3], np.int32),
        "permutation": np.arange(3, dtype=np.int32),
        "spikes_post": np.ones(4, bool),
        "x_pre": np.ones(2, np.float32),
    },
    shape=(2, 4),
    **RULE,
)

INVALID_CALLS = (
    _wrong("integer", TypeError, "w has dtype int32", w=np.ones(3, np.int32)),
    _wrong("one-weight", ValueError, r"w has shape \(\); expected \(3,\)", w=np.float32(1)),
    _wrong("float-rows", TypeError, "rows has dtype float32", rows=np.ones(3, "f")),
    _wrong("grid", ValueError, "expected 1", w=np.ones((3, 1), "f"), rows=np.ones((3, 1), int)),
    _wrong("short-permutation", ValueError, r"permutation has shape \(2", permutation=np.arange(2)),
    _wrong("indptr-of-rows", ValueError, "it fits the rows", indptr=np.array([0, 1, 3])),
    _wrong("orientation", ValueError, "one per neuron.*column of", spikes_post=np.ones(2, bool)),
    _wrong("trace-of-post", ValueError, "one per neuron.*row of", x_pre=np.ones(4, "f")),
    _wrong("negative-rate", ValueError, "A_plus is or contains -0.1", A_plus=-0.1),
    _wrong("bounds", ValueError, "w_min is 2.0 and w_max is 0.9", w_min=2.0),
)


BENCH = Bench(
    carried={0: 0},
    moved=stdp("spikes_post", "x_pre", "A_plus", "rows", "permutation"),
    operations=stdp_change("spikes_post", "x_pre", "rows", "permutation"),
)
