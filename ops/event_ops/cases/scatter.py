"""Cases of scatters into a target: draws, mistakes, and the cases of maxima and minima."""

from __future__ import annotations

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, benchmark, changes_to
from event_ops.cases.draw import Draw, drawn

TARGET, UPDATES = 0, 2


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


# What a case is, and how many roundings of a sum it may show.
SHAPES = (
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
BENCHMARKS = tuple(
    benchmark(name, random_updates(size, count), tolerance=50)
    for name, size, count in (
        ("10k-into-4k", 4000, 10_000),
        ("1M-into-100k", 100_000, 1_000_000),
        ("10M-into-1M", 1_000_000, 10_000_000),
    )
)

EXTREMA = (
    *(Case(name, make, differentiable=(TARGET, UPDATES)) for name, make, _ in SHAPES),
    *BENCHMARKS,
)

_T, _I, _U = np.zeros(4, np.float32), np.zeros(3, np.int32), np.ones(3, np.float32)
_wrong = changes_to({"target": _T, "indices": _I, "updates": _U})

INVALID_CALLS = (
    InvalidCall("bool-target", _wrong(target=np.zeros(4, bool)), TypeError, "target has dtype bool"),
    InvalidCall("float-indices", _wrong(indices=_U), TypeError, "indices has dtype float32"),
    InvalidCall("mask", _wrong(indices=np.ones(3, bool)), TypeError, "indices has dtype bool"),
    InvalidCall("mixed", _wrong(updates=_I), TypeError, "updates has dtype int32 and target"),
    InvalidCall("scalar-target", _wrong(target=np.float32(0)), ValueError, "target is 0-d"),
    InvalidCall("short", _wrong(updates=_U[:2]), ValueError, r"updates has shape \(2,\)"),
    InvalidCall("row", _wrong(target=np.zeros((4, 2), "f")), ValueError, r"expected \(3, 2\) or \(\)"),
    InvalidCall("mode", _wrong(mode="wrap"), ValueError, "mode is 'wrap'; expected one of 'drop'"),
)
COMPLEX_TARGET = InvalidCall(
    "complex", _wrong(target=_T.astype(np.complex64)), TypeError, "target has dtype complex64"
)
