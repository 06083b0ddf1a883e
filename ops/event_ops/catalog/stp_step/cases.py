"""Cases of `stp_step`."""

from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.draw import Draw, drawn
from event_ops.cases.neurons import sized

DTYPES = ("float32", "float64")
ROUNDING = Rounding(6)

X, U_STATE, SPIKES = range(3)
FACILITATING: dict[str, Any] = {"U": 0.15, "tau_rec": 130.0, "tau_fac": 530.0, "dt": 0.5}


@drawn
def _random(draw: Draw, size: Any, spikes: str = "bool", *, each: bool = False, **options: Any) -> Arguments:
    x, u = (draw.rng.random(size).astype(draw.dtype) for _ in range(2))
    events = draw.events(np.size(x), 0.3, spikes).reshape(np.shape(x))
    parameters = draw.spread(FACILITATING, np.shape(x), 0.2) if each else FACILITATING
    return (x, u, events), parameters | options


CASES = (
    Case("random", _random(133), differentiable=(X, U_STATE)),
    Case("each", _random((4, 5), each=True), differentiable=(X, U_STATE), tolerance=4),
    Case("float-spikes", _random(33, "float"), differentiable=(X, U_STATE, SPIKES)),
    Case("depressing", _random(33, U=0.5, tau_rec=800.0, tau_fac=0.0), differentiable=(X, U_STATE)),
    Case("some-depress", _random(3, tau_fac=np.array([0, 10, 0], "f")), differentiable=(X, U_STATE)),
    Case("no-release", _random(33, U=0.0), differentiable=(X, U_STATE)),
    Case("empty", _random(0), differentiable=(X, U_STATE)),
    Case("single", _random(()), differentiable=(X, U_STATE)),
    *sized(_random, 120_000),
)

_arrays = {"x": np.ones(3, np.float32), "u": np.zeros(3, np.float32), "spikes": np.ones(3, bool)}
_wrong = changes_to(_arrays, **FACILITATING)

INVALID_CALLS = (
    _wrong("integer", TypeError, "x has dtype int32", x=np.ones(3, np.int32)),
    _wrong("mixed", TypeError, "u has dtype int32 and x", u=np.zeros(3, np.int32)),
    _wrong("short", ValueError, r"u has shape \(2,\)", u=np.zeros(2, "f")),
    _wrong("integer-spikes", TypeError, "spikes has dtype int", spikes=np.ones(3, np.int32)),
    _wrong("short-spikes", ValueError, r"spikes has shape \(2,\)", spikes=np.ones(2, bool)),
    _wrong("U-shape", ValueError, r"U has shape \(2,\)", U=np.ones(2, "f")),
    _wrong("U-large", ValueError, r"U is or contains 1.5; expected fractions, in \[0, 1\]", U=1.5),
    _wrong("U-nan", ValueError, "U is or contains nan", U=np.array([0, np.nan, 1], "f")),
    _wrong("tau_rec-zero", ValueError, "tau_rec is or contains 0.0", tau_rec=0.0),
    _wrong("tau_fac-negative", ValueError, "tau_fac is or contains -1.0", tau_fac=-1.0),
    _wrong("dt-zero", ValueError, "dt is or contains 0", dt=0),
)


BENCH = Bench(carried={0: 0, 1: 1})
