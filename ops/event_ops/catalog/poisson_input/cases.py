"""Cases of `poisson_input`."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, Call, Outs, initial_sums, size
from event_ops.cases.draw import Draw, drawn

DTYPES = ("float32", "float64")
ROUNDING = Rounding(1)

WEIGHT = 0


@drawn
def _random(
    draw: Draw,
    size: int,
    means: Any,
    *,
    each: bool = False,
    step: Any = 5,
    initial: bool = False,
    data: bool = False,
    block: int = 0,
) -> Arguments:
    """Return neurons that take turns with the means, or share the one mean; `data`: the means as a JAX array.

    `each`: every neuron has a weight of its own; `initial`: numbers that are added to; `block`: the
    number of the first neuron.
    """
    weight = draw.numbers(size if each else ())
    mean = np.resize(np.asarray(means, np.float32 if data else float), size) if np.ndim(means) else means
    more: dict[str, Any] = {"initial": draw.numbers(size)} if initial else {}
    more |= {"first": np.int32(block)} if block else {}
    mean = jnp.asarray(mean, np.float32) if data else mean
    return (weight, np.uint32(77), np.int32(step)), {"mean": mean} | more


CASES = (
    Case("random", _random(133, (0.3, 1.28, 2.32), each=True), differentiable=(WEIGHT,)),
    Case("one-weight", _random(70, (1.5,)), differentiable=(WEIGHT,)),
    Case("initial", _random(133, (0.3, 2.32), initial=True), differentiable=(WEIGHT,), tolerance=4),
    Case("extremes", _random(64, (0.0, 100.0, 1e-9), step=-1), differentiable=(WEIGHT,)),
    Case("one-mean", _random(70, 1.5, each=True), differentiable=(WEIGHT,)),
    Case("data", _random(133, (0.3, 1.28, 99.7, 0), each=True, data=True), differentiable=(WEIGHT,)),
    Case("one-mean-data", _random(70, 2.32, initial=True, data=True), differentiable=(WEIGHT,), tolerance=4),
    Case("half-a-block", _random(32, (4.0,))),
    Case("a-block", _random(133, (0.3, 2.32), block=4 * 1000 + 3), differentiable=(WEIGHT,)),
    Case("a-block-data", _random(70, (0.3, 2.32), block=2, data=True)),
    Case("many-blocks-later", _random(1_061, (0.3, 2.32), block=5)),
    Case("no-neurons", _random(0, (1.0,)), differentiable=(WEIGHT,)),
    Case("many-blocks", _random(1_061, (0.3, 2.32))),
    Case("threads", _random(20_001, (1.28, 2.32))),
    Case("threads-data", _random(20_001, (1.28, 2.32), data=True)),
    benchmark("4k", _random(4000, (1.28, 2.32))),
    benchmark("100k", _random(100_000, (1.28, 2.32))),
    benchmark("100k-data", _random(100_000, (1.28, 2.32), data=True)),
    benchmark("1M", _random(1_000_000, (1.28, 2.32))),
)

_wrong = changes_to({"weight": np.float32(1), "seed": np.uint32(1), "step": np.int32(0)}, mean=np.ones(3))

INVALID_CALLS = (
    _wrong("half", TypeError, "weight has dtype float16", weight=np.float16(1)),
    _wrong("short-weight", ValueError, r"weight has shape \(2,\)", weight=np.ones(2, "f")),
    _wrong("initial", ValueError, r"initial has shape \(2,\)", initial=np.ones(2, "f")),
    _wrong("whole-initial", TypeError, "initial has dtype int32 and", initial=np.ones(3, np.int32)),
    _wrong("float-step", TypeError, "step has dtype float32", step=np.float32(1)),
    _wrong("steps", ValueError, r"step has shape \(2,\)", step=np.ones(2, np.int32)),
    _wrong("float-first", TypeError, "first has dtype float32", first=np.float32(1)),
    _wrong("firsts", ValueError, r"first has shape \(2,\)", first=np.ones(2, np.int32)),
    _wrong("seeds", ValueError, r"seed has shape \(1,\)", seed=np.ones(1, np.int32)),
    _wrong("negative-mean", ValueError, "mean is or contains -0.1", mean=np.array([0.5, -0.1])),
    _wrong("large-mean", ValueError, "mean is or contains 101", mean=np.array([101.0])),
    _wrong("no-size", ValueError, "single numbers; expected one of them as", mean=0.5),
    _wrong("grid-of-means", ValueError, r"mean has shape \(3, 1\)", mean=np.ones((3, 1))),
    _wrong("large-data", ValueError, "mean is or contains 101", mean=jnp.full(3, 101.0)),
    _wrong("flags", TypeError, "mean has dtype bool", mean=np.ones(2, bool)),
)


def _moved(call: Call, outs: Outs) -> int:
    """Count a mean only where it is an array of JAX: a constant one is tables in the compiled code."""
    means = [call.mean] if isinstance(call.mean, jax.Array) else []
    return size(np.asarray(call.weight), *means, *outs) + initial_sums(call, outs)


BENCH = Bench(moved=_moved)
