"""Cases of pair-based STDP: at presynaptic spikes, and at postsynaptic ones by the transpose's structure."""

from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, OperatorCases, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, stdp
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.matrices import STRUCTURE_2_4, lead_astray

_RATES = "A_minus", "A_plus"


def _transposed(indices: np.ndarray, indptr: np.ndarray, columns: int) -> tuple[np.ndarray, ...]:
    """Return rows, indptr and permutation: the entries of a CSR structure ordered by column, then by row."""
    dtype = indices.dtype
    permutation = np.argsort(indices, kind="stable")
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))[permutation]
    ends = np.searchsorted(indices[permutation], np.arange(columns + 1))
    return rows.astype(dtype), ends.astype(dtype), permutation.astype(dtype)


def _structure(indices: np.ndarray, indptr: np.ndarray, shape: Shape, post: bool) -> tuple[np.ndarray, ...]:
    return _transposed(indices, indptr, shape[1]) if post else (indices, indptr)


def _rule(post: bool, rate: Any = 0.6, low: Any = 0.1, high: Any = 0.9) -> dict[str, Any]:
    return {_RATES[post]: rate, "w_min": low, "w_max": high}


@drawn
def _random(draw: Draw, post: bool, shape: Shape, nse: int, spikes: str = "bool") -> Arguments:
    """Return weights within the bounds; spikes push some beyond: float spikes < 0 towards the other bound."""
    _, indices, indptr = draw.csr(shape, nse)
    w = draw.rng.uniform(0.11, 0.89, nse).astype(draw.dtype)
    active = draw.events(shape[post], 0.4, spikes)
    trace = draw.rng.uniform(0, 2, shape[not post]).astype(draw.dtype)
    return (w, *_structure(indices, indptr, shape, post), active, trace), {"shape": shape, **_rule(post)}


@drawn
def _each(draw: Draw, post: bool) -> Arguments:
    """Return a rate and bounds for each weight."""
    args, kwargs = _random(post, (17, 23), 120)(*draw)
    low, high, rate = draw.rng.uniform((0, 0.5, 0), (0.4, 1, 1), (120, 3)).astype(draw.dtype).T
    return args, kwargs | _rule(post, rate, low, high)


@drawn
def _edges(draw: Draw, post: bool) -> Arguments:
    """Return weights out of bounds, not finite or -0, ids out of range, and entries of no row (or column)."""
    (w, ids, indptr, *others), kwargs = _random(post, (9, 7), 60)(*draw)
    w[::4], w[1::9], w[2::9], w[3::9] = 5, np.nan, np.inf, -0.0
    lead_astray(ids, (7, 9)[post])
    if post:
        lead_astray(others[0][3:], 60)
    indptr[0], indptr[-3:] = 2, indptr[-3]
    return (w, ids, indptr, *others), kwargs


@drawn
def _sized(draw: Draw, post: bool, neurons: int, per_row: int, rate: float) -> Arguments:
    shape = (neurons, neurons)
    _, indices, indptr = draw.fixed_degree_csr(shape, per_row)
    w, trace = draw.rng.random(indices.size).astype(draw.dtype), draw.rng.random(neurons).astype(draw.dtype)
    arrays = w, *_structure(indices, indptr, shape, post), draw.events(neurons, rate), trace
    return arrays, {"shape": shape, **_rule(post, 0.01, 0.0, 1.0)}


def _cases(post: bool, none: Case, threads: Shape) -> tuple[Case, ...]:
    spikes, trace = (4, 5) if post else (3, 4)
    return (
        Case("random", _random(post, (17, 23), 120), differentiable=(0, trace)),
        Case("random-float", _random(post, (17, 23), 120, "float"), differentiable=(0, spikes, trace)),
        Case("each", _each(post), differentiable=(0, trace)),
        Case("edges", _edges(post)),
        Case("no-entries", _random(post, (5, 4), 0), differentiable=(0, trace)),
        none,
        Case("threads", _random(post, threads, 1_100_000)),
        benchmark("4000-80-1.00%", _sized(post, 4000, 80, 0.01)),
        benchmark("40000-80-1.00%", _sized(post, 40_000, 80, 0.01)),
        benchmark("100000-100-1.00%", _sized(post, 100_000, 100, 0.01)),
    )


_pre = changes_to(
    {"w": np.ones(3, np.float32)}
    | STRUCTURE_2_4
    | {"spikes_pre": np.ones(2, bool), "x_post": np.ones(4, np.float32)},
    shape=(2, 4),
    **_rule(False),
)

stdp_on_pre = OperatorCases(
    ("float32", "float64"),
    _cases(False, Case("no-columns", _random(False, (4, 0), 3), differentiable=(0, 4)), (3000, 500)),
    (
        _pre("integer", TypeError, "w has dtype int32", w=np.ones(3, np.int32)),
        _pre("one-weight", ValueError, r"w has shape \(\); expected \(3,\)", w=np.float32(1)),
        _pre("float-indices", TypeError, "indices has dtype float32", indices=np.ones(3, "f")),
        _pre("integer-spikes", TypeError, "spikes_pre has dtype int", spikes_pre=np.ones(2, np.int32)),
        _pre("mixed", TypeError, "x_post has dtype float16 and w", x_post=np.ones(4, np.float16)),
        _pre("short-indptr", ValueError, "one more than the 2 rows", indptr=np.array([0, 3])),
        _pre("orientation", ValueError, "one per neuron.*row of", spikes_pre=np.ones(4, bool)),
        _pre("trace-of-pre", ValueError, "one per neuron.*column of", x_post=np.ones(2, "f")),
        _pre("negative-rate", ValueError, "A_minus is or contains -0.1", A_minus=-0.1),
        _pre("short-rate", ValueError, r"A_minus has shape \(2,\)", A_minus=np.ones(2)),
        _pre("short-bound", ValueError, r"w_max has shape \(4,\); expected", w_max=np.ones(4)),
        _pre("bounds-each", ValueError, r"and w_max is 0 at \[1\];", w_max=np.array([1, 0, 1])),
        _pre("bounds", ValueError, "w_min is 2.0 and w_max is 0.9", w_min=2.0),
        _pre("bound-nan", ValueError, "w_max is nan", w_max=np.nan),
    ),
    Rounding(4),
    Bench(
        carried={0: 0},
        moved=stdp("spikes_pre", "x_post", "A_minus", "indices"),
    ),
)

_post = changes_to(
    {
        "w": np.ones(3, np.float32),
        "rows": np.zeros(3, np.int32),
        "indptr": np.array([0, 1, 3, 3, 3], np.int32),
        "permutation": np.arange(3, dtype=np.int32),
        "spikes_post": np.ones(4, bool),
        "x_pre": np.ones(2, np.float32),
    },
    shape=(2, 4),
    **_rule(True),
)

stdp_on_post = OperatorCases(
    ("float32", "float64"),
    _cases(True, Case("no-rows", _random(True, (0, 4), 0), differentiable=(0, 5)), (500, 3000)),
    (
        _post("integer", TypeError, "w has dtype int32", w=np.ones(3, np.int32)),
        _post("one-weight", ValueError, r"w has shape \(\); expected \(3,\)", w=np.float32(1)),
        _post("float-rows", TypeError, "rows has dtype float32", rows=np.ones(3, "f")),
        _post("grid", ValueError, "expected 1", w=np.ones((3, 1), "f"), rows=np.ones((3, 1), int)),
        _post("short-permutation", ValueError, r"permutation has shape \(2", permutation=np.arange(2)),
        _post("indptr-of-rows", ValueError, "it fits the rows", indptr=np.array([0, 1, 3])),
        _post("orientation", ValueError, "one per neuron.*column of", spikes_post=np.ones(2, bool)),
        _post("trace-of-post", ValueError, "one per neuron.*row of", x_pre=np.ones(4, "f")),
        _post("negative-rate", ValueError, "A_plus is or contains -0.1", A_plus=-0.1),
        _post("bounds", ValueError, "w_min is 2.0 and w_max is 0.9", w_min=2.0),
    ),
    Rounding(4),
    Bench(
        carried={0: 0},
        moved=stdp("spikes_post", "x_pre", "A_plus", "rows", "permutation"),
    ),
)
