"""Cases of `trace_decay`."""

from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.draw import Draw, drawn
from event_ops.cases.neurons import sized

DTYPES = ("float32", "float64")
ROUNDING = Rounding(3, sums=True)  # exp and its argument

X, SPIKES = 0, 1


@drawn
def _random(draw: Draw, size: Any, spikes: str = "bool", array: bool = False) -> Arguments:
    x = draw.numbers(size)
    events = draw.events(x.size, 0.2, spikes)
    tau = draw.rng.uniform(5, 50, x.shape).astype(draw.dtype) if array else 20.0
    return (x, events.reshape(x.shape)), {"tau": tau, "dt": 0.5}


CASES = (
    Case("scalar-tau", _random(13), differentiable=(X,)),
    Case("array-tau", _random(13, array=True), differentiable=(X,), tolerance=4),
    Case("float-spikes", _random(13, "float"), differentiable=(X, SPIKES)),
    Case("grid", _random((3, 5), "float", True), differentiable=(X, SPIKES), tolerance=4),
    Case("empty", _random(0), differentiable=(X,)),
    Case("single", _random(()), differentiable=(X,)),
    *sized(_random, 300_000),
)

_wrong = changes_to({"x": np.ones(3, np.float32), "spikes": np.ones(3, bool)}, tau=20.0, dt=0.1)

INVALID_CALLS = (
    _wrong("integer", TypeError, "x has dtype int32", x=np.ones(3, np.int32)),
    _wrong("integer-spikes", TypeError, "spikes has dtype int", spikes=np.ones(3, np.int32)),
    _wrong("short", ValueError, r"spikes has shape \(2,\)", spikes=np.ones(2, bool)),
    _wrong("tau-shape", ValueError, "tau or dt has shape", tau=np.ones(2, "f")),
    _wrong("tau-zero", ValueError, "tau is or contains 0.0", tau=0.0),
    _wrong("tau-nan", ValueError, "contains nan", tau=np.array([1, np.nan, 1], "f")),
    _wrong("dt-negative", ValueError, "dt is or contains -0.1", dt=-0.1),
)


BENCH = Bench(carried={0: 0})
