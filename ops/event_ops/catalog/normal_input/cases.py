"""Cases of `normal_input`."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.draw import Draw, drawn
from event_ops.cases.operations import per_element

DTYPES = ("float32", "float64")
ROUNDING = Rounding(1)

MEAN, STD = range(2)


@drawn
def _random(
    draw: Draw,
    size: int,
    *,
    mean: bool = True,
    std: bool = True,
    step: Any = 5,
    block: int = 0,
    stream: int = 0,
) -> Arguments:
    """Return neurons that have, or share, mean and std; `block`: the number of the first neuron."""
    pair = [draw.numbers(size if each else ()) for each in (mean, std)]
    more: dict[str, Any] = {"first": np.int32(block)} if block else {}
    more |= {"stream": stream} if stream else {}
    return (pair[0], np.abs(pair[1]), np.uint32(77), np.int32(step)), more


CASES = (
    Case("random", _random(133), differentiable=(MEAN, STD)),
    Case("one-mean", _random(70, mean=False), differentiable=(MEAN, STD)),
    Case("one-std", _random(133, std=False), differentiable=(MEAN, STD)),
    Case("stream", _random(133, step=-1, stream=3), differentiable=(MEAN, STD)),
    Case("a-block", _random(133, block=4 * 1000 + 3), differentiable=(MEAN, STD)),
    Case("half-a-block", _random(64, block=64)),
    Case("many-blocks", _random(1_061, block=5)),
    Case("one", _random(1)),
    Case("no-neurons", _random(0), differentiable=(MEAN, STD)),
    Case("threads", _random(33_001)),
    benchmark("4k", _random(4000)),
    benchmark("10k", _random(10_000)),
    benchmark("100k", _random(100_000)),
    benchmark("1M", _random(1_000_000)),
)

_wrong = changes_to(
    {"mean": np.zeros(3, "f"), "std": np.float32(1), "seed": np.uint32(1), "step": np.int32(0)}
)

INVALID_CALLS = (
    InvalidCall("half", _wrong(mean=np.zeros(3, np.float16)), TypeError, "mean has dtype float16"),
    InvalidCall("whole", _wrong(mean=np.zeros(3, np.int32)), TypeError, "mean has dtype int32"),
    InvalidCall(
        "short-std", _wrong(std=np.ones(2, "f")), ValueError, r"has shape \(\d,\); expected \(\) or \(\d,\)"
    ),
    InvalidCall(
        "grid", _wrong(mean=np.zeros((3, 1), "f")), ValueError, r"mean has shape \(3, 1\); expected \(\) or"
    ),
    InvalidCall(
        "no-size", _wrong(mean=0.5), ValueError, "mean and std are single numbers; expected one of them as"
    ),
    InvalidCall("float-step", _wrong(step=np.float32(1)), TypeError, "step has dtype float32"),
    InvalidCall("steps", _wrong(step=np.ones(2, np.int32)), ValueError, r"step has shape \(2,\)"),
    InvalidCall("seeds", _wrong(seed=np.ones(1, np.int32)), ValueError, r"seed has shape \(1,\)"),
    InvalidCall("float-first", _wrong(first=np.float32(1)), TypeError, "first has dtype float32"),
    InvalidCall("negative-first", _wrong(first=-1), ValueError, "first is -1, for 3 neurons"),
    InvalidCall("fourth-stream", _wrong(stream=4), ValueError, "stream is 4; expected 0 to 3"),
    InvalidCall("array-stream", _wrong(stream=np.int32(1)), TypeError, "expected a Python int"),
)


BENCH = Bench(carried={0: 0}, operations=per_element(3))  # a random number, a product and a sum
