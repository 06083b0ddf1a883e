"""Cases of `csr_sddmm`."""

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.csr_products import invalid_matrices
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.matrices import STRUCTURE_2_4, lead_astray

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

X, Y = 2, 3


@drawn
def _random(draw: Draw, shape: Shape, nse: int, row: tuple[int, ...], events: str = "") -> Arguments:
    """Return X and Y with rows of shape `row`; `events` names the one that is bool, if any."""
    _, indices, indptr = draw.csr(shape, nse)
    factors = {name: draw.numbers((size, *row)) for name, size in zip("XY", shape, strict=True)}
    if events:
        factors[events] = draw.rng.random(factors[events].shape) < 0.3
    return (indices, indptr, factors["X"], factors["Y"]), {"shape": shape}


@drawn
def _hidden(draw: Draw) -> Arguments:
    """Return NaN where only inactive events meet it."""
    (indices, indptr, active, y), kwargs = _random((6, 7), 25, (3,), "X")(*draw)
    active[:, 1] = False
    y[:, 1] = np.nan
    return (indices, indptr, active, y), kwargs


@drawn
def _loose_ends(draw: Draw) -> Arguments:
    """Return columns out of range, an infinite factor, and an indptr that spans only some of the entries."""
    (indices, _, x, y), kwargs = _random((4, 6), 20, (2,))(*draw)
    lead_astray(indices, 6)
    x[1, 0] = np.inf
    return (indices, np.array([3, 7, 12, 12, 17], draw.index_dtype), x, y), kwargs


@drawn
def _sized(draw: Draw, shape: Shape, per_row: int, row: tuple[int, ...]) -> Arguments:
    _, indices, indptr = draw.fixed_degree_csr(shape, per_row)
    x, y = draw.numbers((shape[0], *row)), draw.numbers((shape[1], *row))
    return (indices, indptr, x, y), {"shape": shape}


CASES = (
    Case("random", _random((17, 23), 120, (5,)), differentiable=(X, Y), tolerance=5),
    Case("vectors", _random((17, 23), 120, ()), differentiable=(X, Y)),
    Case("events-of-rows", _random((17, 23), 120, (), "X"), differentiable=(Y,)),
    Case("events-of-columns", _random((17, 23), 120, (4,), "Y"), differentiable=(X,), tolerance=5),
    Case("hidden", _hidden(), tolerance=5),
    Case("loose-ends", _loose_ends(), tolerance=5),
    Case("no-rows", _random((0, 4), 3, (2,)), differentiable=(X, Y)),
    Case("threads", _random((60, 80), 7000, (36,)), tolerance=5),
    benchmark("1000x2000-5%", _sized((1000, 2000), 100, ())),
    benchmark("100k-100", _sized((100_000, 100_000), 100, ())),
    benchmark("100k-100-n32", _sized((100_000, 100_000), 100, (32,))),
)

_wrong = changes_to(
    STRUCTURE_2_4 | {"X": np.ones((2, 5), np.float32), "Y": np.ones((4, 5), np.float32)}, shape=(2, 4)
)
_BOOL = np.ones((2, 5), bool)

INVALID_CALLS = (
    *invalid_matrices(_wrong, "float-indices short-indptr"),
    _wrong("half", TypeError, "X has dtype float16.*32 or 64 bits", X=np.ones((2, 5), "e")),
    _wrong("mixed", TypeError, "Y has dtype int32 and X", Y=np.ones((4, 5), np.int32)),
    _wrong("both-bool", TypeError, "Y has dtype bool; expected float32 or", X=_BOOL, Y=np.ones((4, 5), bool)),
    _wrong("bool-and-integer", TypeError, "Y has dtype int32", X=_BOOL, Y=np.ones((4, 5), "i")),
    _wrong("swapped", ValueError, r"X has shape \(4, 5\).*\(2, n\)", X=np.ones((4, 5), "f")),
    _wrong("short-Y", ValueError, r"Y has shape \(3,\).*per column", Y=np.ones(3, "f")),
    _wrong("widths", ValueError, "n of 5 and of 3", Y=np.ones((4, 3), "f")),
)


BENCH = Bench(linear=(2, 3))
