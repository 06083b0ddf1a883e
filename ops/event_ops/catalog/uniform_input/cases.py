"""Cases of `uniform_input`."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.draw import Draw, drawn
from event_ops.cases.operations import per_element

DTYPES = ("float32", "float64")
ROUNDING = Rounding(2)

LOW, HIGH = range(2)


@drawn
def _random(
    draw: Draw,
    size: int,
    *,
    low: bool = True,
    high: bool = True,
    step: Any = 5,
    block: int = 0,
    stream: int = 0,
) -> Arguments:
    """Return neurons that have, or share, low and high; `block`: the number of the first neuron."""
    pair = [draw.numbers(size if each else ()) for each in (low, high)]
    more: dict[str, Any] = {"first": np.int32(block)} if block else {}
    more |= {"stream": stream} if stream else {}
    return (*pair, np.uint32(77), np.int32(step)), more


CASES = (
    Case("random", _random(133), differentiable=(LOW, HIGH)),
    Case("one-low", _random(70, low=False), differentiable=(LOW, HIGH)),
    Case("one-high", _random(133, high=False), differentiable=(LOW, HIGH)),
    Case("stream", _random(133, step=-1, stream=3), differentiable=(LOW, HIGH)),
    Case("a-block", _random(133, block=4 * 1000 + 3), differentiable=(LOW, HIGH)),
    Case("half-a-block", _random(64, block=64)),
    Case("many-blocks", _random(1_061, block=5)),
    Case("one", _random(1)),
    Case("no-neurons", _random(0), differentiable=(LOW, HIGH)),
    Case("threads", _random(33_001)),
    benchmark("4k", _random(4000)),
    benchmark("10k", _random(10_000)),
    benchmark("100k", _random(100_000)),
    benchmark("1M", _random(1_000_000)),
)

_wrong = changes_to(
    {"low": np.zeros(3, "f"), "high": np.float32(1), "seed": np.uint32(1), "step": np.int32(0)}
)

INVALID_CALLS = (
    InvalidCall("half", _wrong(low=np.zeros(3, np.float16)), TypeError, "low has dtype float16"),
    InvalidCall("whole", _wrong(low=np.zeros(3, np.int32)), TypeError, "low has dtype int32"),
    InvalidCall(
        "short-high", _wrong(high=np.ones(2, "f")), ValueError, r"has shape \(\d,\); expected \(\) or \(\d,\)"
    ),
    InvalidCall(
        "grid", _wrong(low=np.zeros((3, 1), "f")), ValueError, r"low has shape \(3, 1\); expected \(\) or"
    ),
    InvalidCall(
        "no-size", _wrong(low=0.5), ValueError, "low and high are single numbers; expected one of them as"
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
