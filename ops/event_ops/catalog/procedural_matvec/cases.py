"""Cases of `procedural_matvec`."""

from __future__ import annotations

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, Call, Outs
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.operations import generated_product

DTYPES = ("float32", "float64")
ROUNDING = Rounding(100)  # for sums of up to two hundred terms, whose weights are rounded, too

WEIGHT, V = 0, 2


@drawn
def _random(
    draw: Draw, shape: Shape, prob: float, distribution: str, transpose: bool = False, seed: int = 12345
) -> Arguments:
    weight = draw.numbers(() if distribution == "constant" else 2)
    v = draw.numbers(shape[0] if transpose else shape[1])
    static = {"prob": prob, "shape": shape, "distribution": distribution, "transpose": transpose}
    return (weight, np.uint32(seed), v), static


CASES = (
    *(
        Case(
            name,
            make,
            differentiable=(WEIGHT, V) if name in ("normal", "uniform-transposed") else (),
            tolerance=20,
            note="sums of up to two hundred terms",
        )
        for name, make in (
            ("normal", _random((17, 23), 0.2, "normal")),
            ("uniform-transposed", _random((17, 23), 0.2, "uniform", True)),
            ("sparse-transposed", _random((3, 9000), 1e-4, "constant", True, 2**32 - 1)),
            ("full", _random((6, 7), 1.0, "constant")),
            ("no-columns", _random((4, 0), 0.5, "normal")),
            ("threads", _random((60, 1000), 0.15, "constant")),
            ("threads-transposed", _random((1000, 60), 0.15, "constant", True)),
        )
    ),
    *(
        benchmark(
            f"{size}-{per_row}{'-transposed' * transpose}",
            _random((size, size), per_row / size, "constant", transpose),
            tolerance=50,
        )
        for size, per_row in ((1000, 50), (4000, 80), (20_000, 100))
        for transpose in (False, True)
    ),
)

_wrong = changes_to(
    {"weight": np.float32(1), "seed": np.uint32(1), "v": np.ones(4, np.float32)}, prob=0.5, shape=(2, 4)
)

INVALID_CALLS = (
    InvalidCall("half", _wrong(weight=np.float16(1)), TypeError, "float16.*32 or 64 bits"),
    InvalidCall("mixed", _wrong(v=np.ones(4, np.int32)), TypeError, "v has dtype int32 and weight"),
    InvalidCall("float-seed", _wrong(seed=np.float32(1)), TypeError, "seed has dtype float32"),
    InvalidCall("seeds", _wrong(seed=np.ones(2, np.int32)), ValueError, "seed has shape.*jax.vmap"),
    InvalidCall("pair", _wrong(weight=np.ones(2, "f")), ValueError, r"weight has shape \(2,\).*one weight"),
    InvalidCall("one", _wrong(distribution="normal"), ValueError, r"expected \(2,\): normal: \(mean"),
    InvalidCall("poisson", _wrong(distribution="poisson"), ValueError, "'poisson'; expected 'constant' or"),
    InvalidCall("percent", _wrong(prob=5), ValueError, r"prob is 5; expected a probability, in \[0, 1\]"),
    InvalidCall("nan", _wrong(prob=float("nan")), ValueError, "prob is nan"),
    InvalidCall("prob-array", _wrong(prob=np.ones(1)), TypeError, "expected a number known when"),
    InvalidCall("orientation", _wrong(v=np.ones(2, "f")), ValueError, "it fits transpose=True"),
    InvalidCall("shape", _wrong(shape=(2, 2**31)), ValueError, "at most 2147479552 rows and columns"),
)


def _operations(call: Call, outs: Outs) -> int:
    """Count a product and a sum for each entry, beside what generates it."""
    return generated_product(call, call.v.size, 2)


BENCH = Bench(operations=_operations)
