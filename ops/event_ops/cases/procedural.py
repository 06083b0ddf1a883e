"""Inputs and wrong calls that products with a generated matrix share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, Rounding, Wrong, changes_to
from event_ops.cases.draw import Draw, Make, Shape, drawn

DTYPES = ("float32", "float64")
ROUNDING = Rounding(100)  # for sums of up to two hundred terms, whose weights are rounded, too

WEIGHT, OPERAND = 0, 2


@drawn
def generated(
    draw: Draw,
    shape: Shape,
    prob: float,
    distribution: str,
    transpose: bool = False,
    *,
    n: int | None = None,
    events: str = "",
    rate: float = 0.3,
    seed: int = 12345,
) -> Arguments:
    """Return a matrix, and a vector or `n` columns, of numbers or events."""
    weight = draw.numbers(() if distribution == "constant" else 2)
    extent = _extent(shape[0] if transpose else shape[1], n)
    x = draw.events(math.prod(extent), rate, events).reshape(extent) if events else draw.numbers(extent)
    static = {"prob": prob, "shape": shape, "distribution": distribution, "transpose": transpose}
    return (weight, np.uint32(77 if events else seed), x), static


def summed(inputs: Mapping[str, Make], differentiable: Callable[[str], tuple[int, ...]]) -> tuple[Case, ...]:
    """Return a case for each of the inputs, of long sums; `differentiable` takes its name."""
    note = "sums of up to two hundred terms"
    return tuple(
        Case(name, make, differentiable=differentiable(name), tolerance=20, note=note)
        for name, make in inputs.items()
    )


def wrong_numbers(operand: str, n: int | None = None) -> tuple[InvalidCall, ...]:
    """Return wrong calls of a product with a vector, or a matrix of `n` columns, of this name."""
    right = np.ones(_extent(4, n), np.float32)
    wrong = changes_to(
        {"weight": np.float32(1), "seed": np.uint32(1), operand: right}, prob=0.5, shape=(2, 4)
    )
    turned = {operand: np.ones(_extent(2, n), "f")}
    return (
        wrong("half", TypeError, "float16.*32 or 64 bits", weight=np.float16(1)),
        wrong("mixed", TypeError, f"{operand} has dtype int32 and weight", **{operand: right.astype("i")}),
        wrong("float-seed", TypeError, "seed has dtype float32", seed=np.float32(1)),
        wrong("seeds", ValueError, "seed has shape.*jax.vmap", seed=np.ones(2, np.int32)),
        wrong("pair", ValueError, r"weight has shape \(2,\).*one weight", weight=np.ones(2, "f")),
        wrong("one", ValueError, r"expected \(2,\): normal: \(mean", distribution="normal"),
        wrong("poisson", ValueError, "'poisson'; expected 'constant' or", distribution="poisson"),
        wrong("percent", ValueError, r"prob is 5; expected a probability, in \[0, 1\]", prob=5),
        wrong("nan", ValueError, "prob is nan", prob=float("nan")),
        wrong("prob-array", TypeError, "expected a number known when", prob=np.ones(1)),
        wrong("orientation", ValueError, "it fits transpose=True", **turned),
        wrong("shape", ValueError, "at most 2147479552 rows and columns", shape=(2, 2**31)),
        *_vector_for_matrix(wrong, operand, np.ones(4, "f"), n),
    )


def wrong_events(n: int | None = None) -> tuple[InvalidCall, ...]:
    """Return wrong calls of a product with a vector, or a matrix of `n` columns, of events."""
    right = np.ones(_extent(4, n), bool)
    wrong = changes_to(
        {"weight": np.float32(1), "seed": np.uint32(1), "events": right}, prob=0.5, shape=(2, 4)
    )
    per_column = "one element per column" if n is None else "one row per column"
    return (
        wrong("half", TypeError, "float16.*32 or 64 bits", weight=np.float16(1)),
        wrong("integer-events", TypeError, "events has dtype int", events=right.astype("i")),
        wrong("mixed", TypeError, "weight has dtype int32", weight=np.ones(2, "i"), distribution="uniform"),
        wrong("seeds", ValueError, r"seed has shape \(1,\)", seed=np.ones(1, np.int32)),
        wrong("negative-prob", ValueError, "prob is -0.1", prob=-0.1),
        wrong("orientation", ValueError, "it fits transpose=True", events=right[:2]),
        wrong("short-events", ValueError, per_column, events=right[:3]),
        *_vector_for_matrix(wrong, "events", np.ones(4, bool), n),
    )


def _extent(size: int, n: int | None) -> tuple[int, ...]:
    return (size,) if n is None else (size, n)


def _vector_for_matrix(wrong: Wrong, operand: str, vector: np.ndarray, n: int | None) -> list[InvalidCall]:
    """Return the call of a product with a matrix that has a vector instead."""
    call = wrong("vector", ValueError, f"{operand} has 1 dim.*call the matvec", **{operand: vector})
    return [] if n is None else [call]
