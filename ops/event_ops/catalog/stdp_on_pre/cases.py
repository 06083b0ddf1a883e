"""Cases of `stdp_on_pre`."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, stdp
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.matrices import STRUCTURE_2_4, lead_astray
from event_ops.cases.operations import stdp_change

DTYPES = ("float32", "float64")
ROUNDING = Rounding(4)

W, SPIKES, X = 0, 3, 4

RULE: dict[str, Any] = {"A_minus": 0.6, "w_min": 0.1, "w_max": 0.9}


@drawn
def _random(draw: Draw, shape: Shape, nse: int, spikes: str = "bool") -> Arguments:
    """Return weights within the bounds; some are pushed beyond, upwards where a float spike is < 0."""
    _, indices, indptr = draw.csr(shape, nse)
    w = draw.rng.uniform(0.11, 0.89, nse).astype(draw.dtype)
    active = draw.events(shape[0], 0.4, spikes)
    x_post = draw.rng.uniform(0, 2, shape[1]).astype(draw.dtype)
    return (w, indices, indptr, active, x_post), {"shape": shape, **RULE}


@drawn
def _each(draw: Draw) -> Arguments:
    """Return a rate and bounds for each weight."""
    args, kwargs = _random((17, 23), 120)(*draw)
    low, high, rate = draw.rng.uniform((0, 0.5, 0), (0.4, 1, 1), (120, 3)).astype(draw.dtype).T
    return args, kwargs | {"A_minus": rate, "w_min": low, "w_max": high}


@drawn
def _edges(draw: Draw) -> Arguments:
    """Return weights out of bounds, not finite or -0, columns out of range, and entries that no row holds."""
    (w, indices, indptr, active, x_post), kwargs = _random((9, 7), 60)(*draw)
    w[::4], w[1::9], w[2::9], w[3::9] = 5, np.nan, np.inf, -0.0
    lead_astray(indices, 7)
    indptr[0], indptr[-3:] = 2, indptr[-3]
    return (w, indices, indptr, active, x_post), kwargs


@drawn
def _sized(draw: Draw, neurons: int, per_row: int, rate: float) -> Arguments:
    shape = (neurons, neurons)
    _, indices, indptr = draw.fixed_degree_csr(shape, per_row)
    w, x_post = draw.rng.random(indices.size).astype(draw.dtype), draw.rng.random(neurons).astype(draw.dtype)
    spikes = draw.events(neurons, rate)
    rule = {"A_minus": 0.01, "w_min": 0.0, "w_max": 1.0}
    return (w, indices, indptr, spikes, x_post), {"shape": shape, **rule}


CASES = (
    Case("random", _random((17, 23), 120), differentiable=(W, X)),
    Case("random-float", _random((17, 23), 120, "float"), differentiable=(W, SPIKES, X)),
    Case("each", _each(), differentiable=(W, X)),
    Case("edges", _edges()),
    Case("no-entries", _random((5, 4), 0), differentiable=(W, X)),
    Case("no-columns", _random((4, 0), 3), differentiable=(W, X)),
    Case("threads", _random((3000, 500), 1_100_000)),
    *(
        benchmark(f"{neurons}-{per_row}-{rate:.2%}", _sized(neurons, per_row, rate))
        for neurons, per_row, rate in ((4000, 80, 0.01), (40_000, 80, 0.01), (100_000, 100, 0.01))
    ),
)

_wrong = changes_to(
    {"w": np.ones(3, np.float32)}
    | STRUCTURE_2_4
    | {"spikes_pre": np.ones(2, bool), "x_post": np.ones(4, np.float32)},
    shape=(2, 4),
    **RULE,
)

INVALID_CALLS = (
    _wrong("integer", TypeError, "w has dtype int32", w=np.ones(3, np.int32)),
    _wrong("one-weight", ValueError, r"w has shape \(\); expected \(3,\)", w=np.float32(1)),
    _wrong("float-indices", TypeError, "indices has dtype float32", indices=np.ones(3, "f")),
    _wrong("integer-spikes", TypeError, "spikes_pre has dtype int", spikes_pre=np.ones(2, np.int32)),
    _wrong("mixed", TypeError, "x_post has dtype float16 and w", x_post=np.ones(4, np.float16)),
    _wrong("short-indptr", ValueError, "one more than the 2 rows", indptr=np.array([0, 3])),
    _wrong("orientation", ValueError, "one per neuron.*row of", spikes_pre=np.ones(4, bool)),
    _wrong("trace-of-pre", ValueError, "one per neuron.*column of", x_post=np.ones(2, "f")),
    _wrong("negative-rate", ValueError, "A_minus is or contains -0.1", A_minus=-0.1),
    _wrong("short-rate", ValueError, r"A_minus has shape \(2,\)", A_minus=np.ones(2)),
    _wrong("short-bound", ValueError, r"w_max has shape \(4,\); expected", w_max=np.ones(4)),
    _wrong("bounds-each", ValueError, r"and w_max is 0 at \[1\];", w_max=np.array([1, 0, 1])),
    _wrong("bounds", ValueError, "w_min is 2.0 and w_max is 0.9", w_min=2.0),
    _wrong("bound-nan", ValueError, "w_max is nan", w_max=np.nan),
)


BENCH = Bench(
    carried={0: 0},
    moved=stdp("spikes_pre", "x_post", "A_minus", "indices"),
    operations=stdp_change("spikes_pre", "x_post", "indices"),
)
