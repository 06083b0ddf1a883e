"""Cases of the operators that combine updates at places: scatters into a target, and segments."""

from functools import partial
from typing import Any

import numpy as np

from event_ops.cases import EXACT, Arguments, Case, OperatorCases, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.draw import Draw, Make, drawn

TARGET, UPDATES, DATA = 0, 2, 0
_NUMBERS = ("float32", "float64", "complex64", "int32")
_ORDERED = ("float32", "float64", "int32", "int8")


@drawn
def random_updates(draw: Draw, size: int, count: int, row: tuple[int, ...] = ()) -> Arguments:
    """Return updates of random places."""
    indices = draw.rng.integers(0, max(size, 1), count).astype(draw.index_dtype)
    return (draw.numbers((size, *row)), indices, draw.numbers((count, *row))), {}


@drawn
def one_update(draw: Draw, row: tuple[int, ...]) -> Arguments:
    """Return one update for all of the indices."""
    (target, indices, _), _ = random_updates(6, 15, row)(*draw)
    return (target, indices, draw.numbers(())), {}


@drawn
def grid_of_indices(draw: Draw) -> Arguments:
    """Return indices with two axes."""
    (target, indices, updates), _ = random_updates(7, 12)(*draw)
    return (target, indices.reshape(3, 4), updates.reshape(3, 4)), {}


@drawn
def indices_out_of_range(draw: Draw, mode: str) -> Arguments:
    """Return indices that count from the end, and ones out of range."""
    signed = np.dtype(draw.index_dtype).kind == "i"
    ends = [-1, -5, -6, np.iinfo(draw.index_dtype).min] if signed else []
    indices = np.array([0, 4, 5, 4, np.iinfo(draw.index_dtype).max, *ends], draw.index_dtype)
    return (draw.numbers(5), indices, draw.numbers(indices.size)), {"mode": mode}


@drawn
def factors(draw: Draw, make: Make) -> Arguments:
    """Return the arguments that `make` draws, with updates whose products stay in the range of the dtype."""
    (target, indices, updates), kwargs = make(*draw)
    if updates.dtype.kind == "f":
        drawn_factors = np.copysign(np.exp(updates / 10), updates)
    else:
        drawn_factors = np.where(updates > 7, 2, np.where(updates < 0, -1, 1))
    return (target, indices, np.asarray(drawn_factors, updates.dtype)), kwargs


@drawn
def random_segments(
    draw: Draw, count: int, num_segments: int, row: tuple[int, ...] = (), *, ascending: bool = False
) -> Arguments:
    """Return data in random segments, some of which may be empty."""
    ids = draw.rng.integers(0, max(num_segments, 1), count).astype(draw.index_dtype)
    kwargs: dict[str, Any] = {"num_segments": num_segments}
    if ascending:
        ids.sort()
        kwargs["indices_are_sorted"] = True
    return (draw.numbers((count, *row)), ids), kwargs


@drawn
def full_segments(draw: Draw, count: int, num_segments: int, row: tuple[int, ...] = ()) -> Arguments:
    """Return data in random segments, each of which has some: an extremum of none has no derivative."""
    (data, ids), kwargs = random_segments(count, num_segments, row)(*draw)
    ids[draw.rng.permutation(count)[:num_segments]] = np.arange(num_segments)
    return (data, ids), kwargs


@drawn
def ids_out_of_range(draw: Draw, mode: str, row: tuple[int, ...] = ()) -> Arguments:
    """Return ids out of range on either side, up to the limits of the dtype."""
    limits = np.iinfo(draw.index_dtype)
    low = [-1, -5, limits.min] if limits.min < 0 else []
    ids = np.array([0, 4, 5, 4, limits.max, *low], draw.index_dtype)
    return (draw.numbers((ids.size, *row)), ids), {"num_segments": 5, "mode": mode}


@drawn
def clipped_on_threads(draw: Draw) -> Arguments:
    """Return different ids, clipped to one segment, on both sides of where threads divide the data."""
    (data, ids), kwargs = random_segments(40_000, 400, ascending=True)(*draw)
    return (data, ids - ids[ids.size // 2 + 5000]), kwargs | {"num_segments": 30, "mode": "clip"}


# What a case is, and how many roundings of a sum it may show.
_SCATTERS = (
    ("random", random_updates(20, 50), 5),
    ("all-in-one", random_updates(1, 40), 20),
    ("rows", random_updates(6, 25, (3,)), 5),
    ("blocks", random_updates(4, 10, (2, 3)), 5),
    ("one-update", one_update(()), 20),
    ("one-update-rows", one_update((3,)), 20),
    ("grid", grid_of_indices(), 5),
    ("edges", indices_out_of_range("drop"), 5),
    ("edges-clipped", indices_out_of_range("clip"), 5),
    ("no-updates", random_updates(5, 0), 1),
    ("no-target", random_updates(0, 4), 1),
    ("no-width", random_updates(3, 4, (0,)), 1),
    ("threads", random_updates(900, 70_000), 200),
    ("threads-rows", random_updates(50, 40_000, (2,)), 500),
)
_SCATTER_BENCHMARKS = (
    benchmark("10k-into-4k", random_updates(4000, 10_000), 50),
    benchmark("1M-into-100k", random_updates(100_000, 1_000_000), 50),
    benchmark("10M-into-1M", random_updates(1_000_000, 10_000_000), 50),
)

_T, _I, _U = np.zeros(4, np.float32), np.zeros(3, np.int32), np.ones(3, np.float32)
_scatter = changes_to({"target": _T, "indices": _I, "updates": _U})

_INVALID_SCATTERS = (
    _scatter("bool-target", TypeError, "target has dtype bool", target=np.zeros(4, bool)),
    _scatter("float-indices", TypeError, "indices has dtype float32", indices=_U),
    _scatter("mask", TypeError, "indices has dtype bool", indices=np.ones(3, bool)),
    _scatter("mixed", TypeError, "updates has dtype int32 and target", updates=_I),
    _scatter("scalar-target", ValueError, "target is 0-d", target=np.float32(0)),
    _scatter("short", ValueError, r"updates has shape \(2,\)", updates=_U[:2]),
    _scatter("row", ValueError, r"expected \(3, 2\) or \(\)", target=np.zeros((4, 2), "f")),
    _scatter("mode", ValueError, "mode is 'wrap'; expected one of 'drop'", mode="wrap"),
)
_COMPLEX_TARGET = _scatter("complex", TypeError, "target has dtype complex64", target=_T.astype(np.complex64))


def _scatters(name: str) -> tuple[Case, ...]:
    """Return the cases of an operator: of products with draws of their own, of extrema exact."""
    return (
        *(
            Case(
                case,
                factors(make) if name == "scatter_mul" else make,
                differentiable=(TARGET, UPDATES),
                tolerance=1.0 if name in ("scatter_min", "scatter_max") else tolerance,
            )
            for case, make, tolerance in _SCATTERS
        ),
        *(
            benchmark(case.name, factors(case.make), case.tolerance) if name == "scatter_mul" else case
            for case in _SCATTER_BENCHMARKS
        ),
    )


scatter_add = OperatorCases(
    _NUMBERS,
    _scatters("scatter_add"),
    _INVALID_SCATTERS,
    Rounding(0, sums=True),
    Bench(carried={0: 0}, linear=(0, 2)),
)
scatter_mul = OperatorCases(
    ("float32", "float64", "int32"),
    _scatters("scatter_mul"),
    (*_INVALID_SCATTERS, _COMPLEX_TARGET),
    None,
    Bench(linear=(TARGET,)),
)
scatter_min = scatter_max = OperatorCases(
    _ORDERED,
    _scatters("scatter_min"),
    (*_INVALID_SCATTERS, _COMPLEX_TARGET),
    EXACT,
)

_SEGMENT_BENCHMARKS = (
    benchmark("10k-into-4k", random_segments(10_000, 4000), 50),
    benchmark("1M-into-100k", random_segments(1_000_000, 100_000), 50),
    benchmark("1M-into-100k-sorted", random_segments(1_000_000, 100_000, ascending=True), 50),
    benchmark("10M-into-1M", random_segments(10_000_000, 1_000_000), 50),
)

_smooth = partial(Case, differentiable=(DATA,))

_SEGMENT_SUMS = (
    _smooth("random", random_segments(50, 20), tolerance=5),
    _smooth("sorted", random_segments(50, 20, ascending=True), tolerance=5),
    _smooth("rows", random_segments(25, 6, (3,)), tolerance=5),
    _smooth("edges", ids_out_of_range("drop"), tolerance=5),
    _smooth("edges-clipped", ids_out_of_range("clip", (2, 2)), tolerance=5),
    _smooth("no-data", random_segments(0, 4)),
    _smooth("no-segments", random_segments(4, 0)),
    _smooth("threads", random_segments(70_000, 900), tolerance=200),
    _smooth("threads-sorted", random_segments(40_000, 300, (2,), ascending=True), tolerance=500),
    Case("threads-clipped", clipped_on_threads(), tolerance=20_000),  # one sum of 30,000 terms
    *_SEGMENT_BENCHMARKS,
)
_SEGMENT_EXTREMA = (
    _smooth("random", full_segments(50, 12)),
    _smooth("rows", full_segments(25, 6, (3,))),
    _smooth("blocks", full_segments(12, 4, (2, 2))),
    Case("empty-segments", random_segments(6, 9)),
    Case("edges", ids_out_of_range("drop")),
    Case("edges-clipped", ids_out_of_range("clip", (2, 2))),
    Case("no-data", random_segments(0, 4)),
    Case("no-segments", random_segments(4, 0)),
    Case("threads", random_segments(70_000, 900)),
    Case("threads-rows", random_segments(40_000, 50, (2,))),
    Case("threads-sorted", random_segments(40_000, 300, (2,), ascending=True)),
    Case("threads-clipped", clipped_on_threads()),
    *_SEGMENT_BENCHMARKS,
)

_D = np.ones(3, np.float32)
_segment = changes_to({"data": _D, "segment_ids": _I}, num_segments=3)

_INVALID_SEGMENTS = (
    _segment("bool", TypeError, "data has dtype bool", data=np.ones(3, bool)),
    _segment("float-ids", TypeError, "segment_ids has dtype float32", segment_ids=_D),
    _segment("grid-of-ids", ValueError, "2 dimensions", data=_D[None], segment_ids=_I[None]),
    _segment("scalar", ValueError, r"data has shape \(\)", data=np.float32(1)),
    _segment("short", ValueError, r"data has shape \(2,\) and segment_ids \(3,\)", data=_D[:2]),
    _segment("float-number", TypeError, "num_segments is 3.0; expected an integer", num_segments=3.0),
    _segment("negative-number", ValueError, "num_segments is -1; expected an integer >= 0", num_segments=-1),
    _segment("mode", ValueError, "mode is 'wrap'; expected one of 'drop'", mode="wrap"),
)
_COMPLEX_DATA = _segment("complex", TypeError, "data has dtype complex64", data=_D.astype(np.complex64))

segment_sum = OperatorCases(
    _NUMBERS,
    _SEGMENT_SUMS,
    _INVALID_SEGMENTS,
    Rounding(0, sums=True),
    Bench(linear=(DATA,)),
)
segment_min = segment_max = OperatorCases(
    _ORDERED, _SEGMENT_EXTREMA, (*_INVALID_SEGMENTS, _COMPLEX_DATA), EXACT
)
