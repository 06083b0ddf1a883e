"""Inputs and wrong calls that products with a generated matrix share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, Rounding, changes_to
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
        InvalidCall("half", wrong(weight=np.float16(1)), TypeError, "float16.*32 or 64 bits"),
        InvalidCall(
            "mixed", wrong(**{operand: right.astype("i")}), TypeError, f"{operand} has dtype int32 and weight"
        ),
        InvalidCall("float-seed", wrong(seed=np.float32(1)), TypeError, "seed has dtype float32"),
        InvalidCall("seeds", wrong(seed=np.ones(2, np.int32)), ValueError, "seed has shape.*jax.vmap"),
        InvalidCall(
            "pair", wrong(weight=np.ones(2, "f")), ValueError, r"weight has shape \(2,\).*one weight"
        ),
        InvalidCall("one", wrong(distribution="normal"), ValueError, r"expected \(2,\): normal: \(mean"),
        InvalidCall(
            "poisson", wrong(distribution="poisson"), ValueError, "'poisson'; expected 'constant' or"
        ),
        InvalidCall("percent", wrong(prob=5), ValueError, r"prob is 5; expected a probability, in \[0, 1\]"),
        InvalidCall("nan", wrong(prob=float("nan")), ValueError, "prob is nan"),
        InvalidCall("prob-array", wrong(prob=np.ones(1)), TypeError, "expected a number known when"),
        InvalidCall("orientation", wrong(**turned), ValueError, "it fits transpose=True"),
        InvalidCall("shape", wrong(shape=(2, 2**31)), ValueError, "at most 2147479552 rows and columns"),
        *_vector_for_matrix(wrong, operand, np.ones(4, "f"), n),
    )


def wrong_events(n: int | None = None) -> tuple[InvalidCall, ...]:
    """Return wrong calls of a product with a vector, or a matrix of `n` columns, of events."""
    right = np.ones(_extent(4, n), bool)
    wrong = changes_to(
        {"weight": np.float32(1), "seed": np.uint32(1), "events": right}, prob=0.5, shape=(2, 4)
    )
    integers = wrong(weight=np.ones(2, np.int32), distribution="uniform")
    per_column = "one element per column" if n is None else "one row per column"
    return (
        InvalidCall("half", wrong(weight=np.float16(1)), TypeError, "float16.*32 or 64 bits"),
        InvalidCall("integer-events", wrong(events=right.astype("i")), TypeError, "events has dtype int"),
        InvalidCall("mixed", integers, TypeError, "weight has dtype int32"),
        InvalidCall("seeds", wrong(seed=np.ones(1, np.int32)), ValueError, r"seed has shape \(1,\)"),
        InvalidCall("negative-prob", wrong(prob=-0.1), ValueError, "prob is -0.1"),
        InvalidCall("orientation", wrong(events=right[:2]), ValueError, "it fits transpose=True"),
        InvalidCall("short-events", wrong(events=right[:3]), ValueError, per_column),
        *_vector_for_matrix(wrong, "events", np.ones(4, bool), n),
    )


def _extent(size: int, n: int | None) -> tuple[int, ...]:
    return (size,) if n is None else (size, n)


def _vector_for_matrix(
    wrong: Callable[..., Callable[[], Arguments]], operand: str, vector: np.ndarray, n: int | None
) -> list[InvalidCall]:
    """Return the call of a product with a matrix that has a vector instead."""
    call = InvalidCall(
        "vector", wrong(**{operand: vector}), ValueError, f"{operand} has 1 dim.*call the matvec"
    )
    return [] if n is None else [call]
