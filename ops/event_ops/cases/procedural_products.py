"""Cases of products with a generated matrix."""

import math
from functools import partial

import numpy as np

from event_ops.cases import (
    Arguments,
    Case,
    InvalidCall,
    OperatorCases,
    Rounding,
    Wrong,
    benchmark,
    both_ways,
    changes_to,
)
from event_ops.cases.draw import Draw, Shape, drawn

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


# Sums of up to two hundred terms.
_summed = partial(Case, tolerance=20)
_in_weight = partial(_summed, differentiable=(WEIGHT,))
_in_both = partial(_summed, differentiable=(WEIGHT, OPERAND))
_timed = partial(benchmark, tolerance=50)
_sent = partial(generated, distribution="constant", transpose=True, events="bool")


def _wrong_numbers(operand: str, n: int | None = None) -> tuple[InvalidCall, ...]:
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


def _wrong_events(n: int | None = None) -> tuple[InvalidCall, ...]:
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


procedural_matvec = OperatorCases(
    DTYPES,
    (
        _in_both("normal", generated((17, 23), 0.2, "normal")),
        _in_both("uniform-transposed", generated((17, 23), 0.2, "uniform", True)),
        _summed("sparse-transposed", generated((3, 9000), 1e-4, "constant", True, seed=2**32 - 1)),
        _summed("full", generated((6, 7), 1.0, "constant")),
        _summed("no-columns", generated((4, 0), 0.5, "normal")),
        _summed("threads", generated((60, 1000), 0.15, "constant")),
        _summed("threads-transposed", generated((1000, 60), 0.15, "constant", True)),
        *both_ways(_timed, "1000-50", partial(generated, (1000, 1000), 0.05, "constant")),
        *both_ways(_timed, "4000-80", partial(generated, (4000, 4000), 0.02, "constant")),
        *both_ways(_timed, "20000-100", partial(generated, (20_000, 20_000), 0.005, "constant")),
    ),
    _wrong_numbers("v"),
    ROUNDING,
)
procedural_matmat = OperatorCases(
    DTYPES,
    (
        _in_both("normal", generated((17, 23), 0.2, "normal", n=5)),
        _in_both("uniform-transposed", generated((17, 23), 0.2, "uniform", True, n=3)),
        _summed("sparse-transposed", generated((3, 9000), 1e-4, "constant", True, n=2, seed=2**32 - 1)),
        _summed("wide-transposed", generated((17, 23), 0.2, "normal", True, n=40)),
        _summed("full-wide", generated((6, 7), 1.0, "constant", n=35)),
        _summed("no-columns", generated((4, 0), 0.5, "normal", n=3)),
        _summed("no-vectors", generated((4, 5), 0.5, "normal", True, n=0)),
        _summed("threads", generated((60, 1000), 0.15, "constant", n=3)),
        _summed("threads-transposed", generated((1000, 60), 0.15, "constant", True, n=3)),
        *both_ways(_timed, "1000-50-n16", partial(generated, (1000, 1000), 0.05, "constant", n=16)),
        *both_ways(_timed, "4000-80-n16", partial(generated, (4000, 4000), 0.02, "constant", n=16)),
        *both_ways(_timed, "20000-100-n32", partial(generated, (20_000, 20_000), 0.005, "constant", n=32)),
    ),
    _wrong_numbers("B", 3),
    ROUNDING,
)
procedural_event_matvec = OperatorCases(
    DTYPES,
    (
        _in_both("random-float", generated((17, 23), 0.2, "uniform", events="float")),
        _in_weight("constant-transposed", generated((17, 23), 0.2, "constant", True, events="bool")),
        _in_both("normal-float-transposed", generated((17, 23), 0.2, "normal", True, events="float")),
        _in_weight("no-rows", generated((0, 4), 0.5, "constant", True, events="bool")),
        _in_weight("threads", generated((60, 1000), 0.15, "constant", events="bool")),
        _in_weight("threads-transposed", _sent((1000, 60), 0.15, rate=0.9)),
        benchmark("4000-80-1.00%", _sent((4000, 4000), 0.02, rate=0.01), 20),
        benchmark("100000-100-0.10%", _sent((100_000, 100_000), 0.001, rate=0.001), 20),
        benchmark("100000-100-1.00%", _sent((100_000, 100_000), 0.001, rate=0.01), 20),
    ),
    _wrong_events(),
    ROUNDING,
)
procedural_event_matmat = OperatorCases(
    DTYPES,
    (
        _in_both("random-float", generated((17, 23), 0.2, "uniform", n=5, events="float")),
        _in_weight("constant-transposed", generated((17, 23), 0.2, "constant", True, n=3, events="bool")),
        _in_both("normal-float-transposed", generated((17, 23), 0.2, "normal", True, n=35, events="float")),
        _in_weight("wide", generated((6, 40), 0.3, "constant", n=40, events="bool")),
        _in_weight("no-rows", generated((0, 4), 0.5, "constant", True, n=3, events="bool")),
        _in_weight("no-vectors", generated((5, 4), 0.5, "constant", n=0, events="bool")),
        _in_weight("threads", generated((60, 1000), 0.15, "constant", n=3, events="bool")),
        _in_weight("threads-transposed", _sent((1000, 60), 0.15, n=3, rate=0.9)),
        *(
            benchmark(
                f"{size}-{per_row}-n{n}-{rate:.2%}{'-transposed' * transpose}",
                generated((size, size), per_row / size, "constant", transpose, n=n, events="bool", rate=rate),
                tolerance=20,
            )
            for size, per_row, n, rate in ((1000, 50, 16, 0.01), (50_000, 100, 32, 0.01))
            for transpose in (False, True)
        ),
    ),
    _wrong_events(3),
    ROUNDING,
)
