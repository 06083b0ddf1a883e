"""Cases of `csr_event_matmat`."""

from functools import partial

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, both_ways, changes_to
from event_ops.cases.bench import Bench, csr_event_product
from event_ops.cases.csr_products import invalid_matrices, permuted, random_event_product
from event_ops.cases.draw import Draw, Make, Shape, drawn, stored_as
from event_ops.cases.matrices import MATRIX_2_4

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

DATA, EVENTS = 0, 3


def _random(
    shape: Shape,
    nse: int,
    n: int,
    transpose: bool = False,
    kind: str = "bool",
    one: bool = False,
    rate: float = 0.1,
) -> Make:
    return random_event_product(shape, nse, transpose, kind, one, (n,), rate)


def _permuted(nse: int, n: int, transpose: bool, kind: str = "bool", astray: bool = False) -> Make:
    return permuted(_random((17, 23), nse, n, transpose, kind, rate=0.3), astray)


@drawn
def _sized(draw: Draw, shape: Shape, per_row: int, n: int, transpose: bool) -> Arguments:
    arrays = draw.fixed_degree_csr(shape, per_row)
    events = draw.rng.random((shape[0] if transpose else shape[1], n)) < 0.01
    return (*arrays, events), {"shape": shape, "transpose": transpose}


@drawn
def _poisoned(draw: Draw, transpose: bool) -> Arguments:
    """Return NaN or inf as the weights that meet no active event, or whose column is out of range."""
    args, kwargs = _random((9, 8), 60, 12, transpose, rate=0.06)(*draw)
    data, indices, indptr, events = args
    indices[::7] = 8
    indices[1::9] = np.iinfo(indices.dtype).max
    silent = ~np.append(events.any(axis=1), [False])
    rows = np.repeat(np.arange(9), np.diff(indptr))
    outside = indices >= 8
    hidden = silent[rows if transpose else np.minimum(indices, 8)] | outside
    data[hidden] = np.where(draw.rng.random(hidden.sum()) < 0.5, np.nan, np.inf)
    return (data, indices, indptr, events), kwargs


_summed = partial(Case, tolerance=20)
_in_data = partial(_summed, differentiable=(DATA,))
_in_both = partial(_summed, differentiable=(DATA, EVENTS))

CASES = (
    _in_both("random", _random((17, 23), 120, 5, kind="float")),
    _in_data("random-transposed", _random((17, 23), 120, 9, True)),
    _in_both("random-transposed-float-one", _random((17, 23), 120, 20, True, "float", True)),
    # What is inactive adds exactly 0, whatever the weight.
    *both_ways(Case, "poisoned", _poisoned, tolerance=5),
    _in_both("permuted", _permuted(120, 5, False, "float")),
    _in_both("permuted-transposed", _permuted(99, 9, True, "float")),
    _in_data("permuted-out-of-range", _permuted(90, 3, False, astray=True)),
    _in_data("permuted-out-of-range-transposed", _permuted(90, 34, True, astray=True)),
    Case("permuted-threads", _permuted(11_000, 33, False), tolerance=200),
    Case("permuted-threads-transposed", _permuted(11_000, 100, True), tolerance=200),
    _in_data("no-columns-of-events", _random((5, 4), 9, 0, True), tolerance=1.0),
    Case("threads", _random((60, 80), 7000, 33), tolerance=50),  # sums of a hundred terms
    Case("threads-transposed", _random((60, 80), 11_000, 100, True, rate=0.2), tolerance=50),
    _summed("float16", stored_as("float16", DATA, _random((17, 23), 120, 5, kind="float"))),
    _summed("bfloat16", stored_as("bfloat16", DATA, _random((17, 23), 120, 5))),
    _summed("bfloat16-transposed", stored_as("bfloat16", DATA, _random((17, 23), 120, 9, True))),
    *both_ways(benchmark, "1000x2000-5%-n16-1.00%", partial(_sized, (1000, 2000), 100, 16), tolerance=20),
    *both_ways(benchmark, "10k-100-n32-1.00%", partial(_sized, (10_000, 10_000), 100, 32), tolerance=20),
    *both_ways(benchmark, "100k-100-n32-1.00%", partial(_sized, (100_000, 100_000), 100, 32), tolerance=20),
)

_wrong = changes_to(MATRIX_2_4 | {"events": np.ones((4, 5), bool)}, shape=(2, 4))

INVALID_CALLS = (
    *invalid_matrices(_wrong, "integer short-data short-permutation"),
    _wrong("integer-events", TypeError, "events has dtype int", events=np.ones((4, 5), int)),
    _wrong("mixed", TypeError, "events has dtype float16", events=np.ones((4, 5), "e")),
    _wrong("vector", ValueError, "events has 1 dim.*call the matvec", events=np.ones(4, bool)),
    _wrong("orientation", ValueError, "it fits transpose=True", events=np.ones((2, 5), bool)),
    _wrong("short-events", ValueError, "one row per column", events=np.ones((3, 5), bool)),
)


BENCH = Bench(linear=(0, 3), moved=csr_event_product)
