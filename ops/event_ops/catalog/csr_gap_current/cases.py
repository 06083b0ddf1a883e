"""Cases of `csr_gap_current`."""

from functools import partial
from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.csr_products import invalid_matrices, one_weight
from event_ops.cases.draw import Draw, drawn
from event_ops.cases.matrices import lead_astray

DTYPES = ("float32", "float64")
# Differences have no magnitudes of their own, so the bound is by the largest current, for rows of many terms.
ROUNDING = Rounding(32)

DATA, V = 0, 3


@drawn
def _random(draw: Draw, neurons: int, nse: int) -> Arguments:
    shape = (neurons, neurons)
    return (*draw.csr(shape, nse), draw.numbers(neurons)), {"shape": shape}


@drawn
def _symmetric(draw: Draw, neurons: int) -> Arguments:
    """Return a ring, each neuron with two neighbours, at potentials in mV that hardly differ."""
    ids = np.arange(neurons)
    indices = np.stack([(ids - 1) % neurons, (ids + 1) % neurons], axis=1).reshape(-1)
    indptr = 2 * np.arange(neurons + 1)
    v = -65 + draw.numbers(neurons)
    structure = indices.astype(draw.index_dtype), indptr.astype(draw.index_dtype)
    return (np.asarray(0.5, draw.dtype), *structure, v.astype(draw.dtype)), {"shape": (neurons, neurons)}


@drawn
def _loose_ends(draw: Draw) -> Arguments:
    """Return columns out of range, one with NaN, and an indptr that spans only some of the entries."""
    (data, indices, _, v), kwargs = _random(5, 14)(*draw)
    lead_astray(indices, 5)
    data[5] = np.nan
    return (data, indices, np.array([2, 4, 4, 9, 9, 12], draw.index_dtype), v), kwargs


@drawn
def _sized(draw: Draw, neurons: int, per_row: int) -> Arguments:
    shape = (neurons, neurons)
    return (*draw.fixed_degree_csr(shape, per_row), draw.numbers(neurons)), {"shape": shape}


_case = partial(Case, differentiable=(DATA, V), tolerance=20)  # sums of many terms

CASES = (
    _case("random", _random(23, 120)),
    _case("one-entry", _random(1, 1)),
    _case("empty-rows", _random(40, 12)),
    _case("no-entries", _random(5, 0)),
    _case("no-neurons", _random(0, 3)),
    _case("threads", _random(700, 40_000)),
    _case("one-weight-0d", one_weight(_random(23, 120), ())),
    _case("one-weight-1d", one_weight(_random(23, 120), (1,))),
    _case("one-weight-threads", one_weight(_random(700, 40_000), ())),
    _case("symmetric", _symmetric(64)),
    Case("loose-ends", _loose_ends(), tolerance=5),
    benchmark("4000-10", _sized(4000, 10), 20),
    benchmark("100k-100", _sized(100_000, 100), 20),
    benchmark("1M-10", _sized(10**6, 10), 20),
)

# Three neurons, for calls that are right but for one argument.
_RIGHT: dict[str, Any] = {
    "data": np.ones(3, np.float32),
    "indices": np.zeros(3, np.int32),
    "indptr": np.array([0, 1, 3, 3], np.int32),
    "v": np.ones(3, np.float32),
}
_wrong = changes_to(_RIGHT, shape=(3, 3))

INVALID_CALLS = (
    *invalid_matrices(_wrong, "float-indices short-data short-indptr shape"),
    _wrong("half", TypeError, "data has dtype float16", data=np.ones(3, np.float16)),
    _wrong("integers", TypeError, "data has dtype int32", data=np.ones(3, "i"), v=np.ones(3, "i")),
    _wrong("mixed", TypeError, "v has dtype int32 and data.*cast", v=np.ones(3, np.int32)),
    _wrong("short-v", ValueError, r"v has shape \(2,\); expected \(3,\)", v=np.ones(2, "f")),
    _wrong("oblong", ValueError, r"shape is \(3, 4\); expected \(n, n\)", shape=(3, 4)),
)


BENCH = Bench(linear=(0, 3))
