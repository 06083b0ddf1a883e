"""Cases of `stp_step`."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, InvalidCall, Rounding, changes_to
from event_ops.cases.bench import Bench, Call, Outs
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
    InvalidCall("integer", _wrong(x=np.ones(3, np.int32)), TypeError, "x has dtype int32"),
    InvalidCall("mixed", _wrong(u=np.zeros(3, np.int32)), TypeError, "u has dtype int32 and x"),
    InvalidCall("short", _wrong(u=np.zeros(2, "f")), ValueError, r"u has shape \(2,\)"),
    InvalidCall("integer-spikes", _wrong(spikes=np.ones(3, np.int32)), TypeError, "spikes has dtype int"),
    InvalidCall("short-spikes", _wrong(spikes=np.ones(2, bool)), ValueError, r"spikes has shape \(2,\)"),
    InvalidCall("U-shape", _wrong(U=np.ones(2, "f")), ValueError, r"U has shape \(2,\)"),
    InvalidCall(
        "U-large", _wrong(U=1.5), ValueError, r"U is or contains 1.5; expected fractions, in \[0, 1\]"
    ),
    InvalidCall("U-nan", _wrong(U=np.array([0, np.nan, 1], "f")), ValueError, "U is or contains nan"),
    InvalidCall("tau_rec-zero", _wrong(tau_rec=0.0), ValueError, "tau_rec is or contains 0.0"),
    InvalidCall("tau_fac-negative", _wrong(tau_fac=-1.0), ValueError, "tau_fac is or contains -1.0"),
    InvalidCall("dt-zero", _wrong(dt=0), ValueError, "dt is or contains 0"),
)


def _operations(call: Call, outs: Outs) -> int:
    """Count four for each synapse, which recovers and fades, and six for a spike."""
    return 4 * call.x.size + 6 * int(np.count_nonzero(call.spikes))


BENCH = Bench(carried={0: 0, 1: 1}, operations=_operations)
