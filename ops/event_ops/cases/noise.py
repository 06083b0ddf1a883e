"""Cases of the operators that add random numbers: `normal_input` and `uniform_input`."""

from functools import partial
from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, OperatorCases, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.draw import Draw, drawn

OPERANDS = 0, 1


@drawn
def _random(
    draw: Draw,
    size: int,
    *,
    base: bool = True,
    scale: bool = True,
    positive: bool,
    step: Any = 5,
    block: int = 0,
    stream: int = 0,
) -> Arguments:
    """Return neurons that have, or share, the two operands, of which the second may have to be `positive`.

    block: the number of the first neuron.
    """
    pair = [draw.numbers(size if each else ()) for each in (base, scale)]
    more: dict[str, Any] = {"first": np.int32(block)} if block else {}
    more |= {"stream": stream} if stream else {}
    second = np.abs(pair[1]) if positive else pair[1]
    return (pair[0], second, np.uint32(77), np.int32(step)), more


def _cases(base: str, scale: str) -> tuple[Case, ...]:
    random = partial(_random, positive=scale == "std")
    return (
        Case("random", random(133), differentiable=OPERANDS),
        Case(f"one-{base}", random(70, base=False), differentiable=OPERANDS),
        Case(f"one-{scale}", random(133, scale=False), differentiable=OPERANDS),
        Case("stream", random(133, step=-1, stream=3), differentiable=OPERANDS),
        Case("a-block", random(133, block=4 * 1000 + 3), differentiable=OPERANDS),
        Case("half-a-block", random(64, block=64)),
        Case("many-blocks", random(1_061, block=5)),
        Case("one", random(1)),
        Case("no-neurons", random(0), differentiable=OPERANDS),
        Case("threads", random(33_001)),
        benchmark("4k", random(4000)),
        benchmark("10k", random(10_000)),
        benchmark("100k", random(100_000)),
        benchmark("1M", random(1_000_000)),
    )


def _invalid_calls(base: str, scale: str) -> tuple[InvalidCall, ...]:
    wrong = changes_to(
        {base: np.zeros(3, "f"), scale: np.float32(1), "seed": np.uint32(1), "step": np.int32(0)}
    )
    return (
        wrong("half", TypeError, f"{base} has dtype float16", **{base: np.zeros(3, np.float16)}),
        wrong("whole", TypeError, f"{base} has dtype int32", **{base: np.zeros(3, np.int32)}),
        wrong(
            f"short-{scale}",
            ValueError,
            r"has shape \(\d,\); expected \(\) or \(\d,\)",
            **{scale: np.ones(2, "f")},
        ),
        wrong(
            "grid",
            ValueError,
            rf"{base} has shape \(3, 1\); expected \(\) or",
            **{base: np.zeros((3, 1), "f")},
        ),
        wrong(
            "no-size",
            ValueError,
            f"{base} and {scale} are single numbers; expected one of them as",
            **{base: 0.5},
        ),
        wrong("float-step", TypeError, "step has dtype float32", step=np.float32(1)),
        wrong("steps", ValueError, r"step has shape \(2,\)", step=np.ones(2, np.int32)),
        wrong("seeds", ValueError, r"seed has shape \(1,\)", seed=np.ones(1, np.int32)),
        wrong("float-first", TypeError, "first has dtype float32", first=np.float32(1)),
        wrong("negative-first", ValueError, "first is -1, for 3 neurons", first=-1),
        wrong("fourth-stream", ValueError, "stream is 4; expected 0 to 3", stream=4),
        wrong("array-stream", TypeError, "expected a Python int", stream=np.int32(1)),
    )


_DTYPES = ("float32", "float64")
_BENCH = Bench(carried={0: 0})

normal_input = OperatorCases(
    _DTYPES, _cases("mean", "std"), _invalid_calls("mean", "std"), Rounding(1), _BENCH
)
uniform_input = OperatorCases(
    _DTYPES, _cases("low", "high"), _invalid_calls("low", "high"), Rounding(2), _BENCH
)
