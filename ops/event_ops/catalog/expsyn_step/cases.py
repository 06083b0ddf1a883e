"""Cases of `expsyn_step`."""

from typing import Any

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, changes_to
from event_ops.cases.bench import Bench, Call, Outs, active_flags, rows_of, size
from event_ops.cases.draw import Draw, drawn
from event_ops.cases.matrices import MATRIX_2_4

DTYPES = ("float32", "float64")
ROUNDING = Rounding(3, sums=True)  # exp and its argument

G, DATA, SPIKES = 0, 1, 4


@drawn
def _random(
    draw: Draw,
    rows: int,
    nse: int,
    g_shape: Any,
    tau_shape: Any = (),
    spikes: str = "bool",
    homogeneous: bool = False,
) -> Arguments:
    g = draw.numbers(g_shape)
    data, indices, indptr = draw.csr((rows, g.size), nse)
    active = draw.events(rows, 0.3, spikes)
    weights = draw.numbers(()) if homogeneous else data
    tau = draw.rng.uniform(5, 50, tau_shape)
    return (g, weights, indices, indptr, active), {"shape": (rows, g.size), "tau": tau, "dt": 0.5}


@drawn
def _sized(draw: Draw, neurons: int, per_row: int, rate: float) -> Arguments:
    """Return two channels, as of excitatory and inhibitory synapses.

    Their decay is so slow that no repetition of a benchmark ends in denormal numbers, with which other code
    than XLA's, which flushes them to 0, computes slowly.
    """
    shape = (neurons, 2 * neurons)
    arrays = draw.fixed_degree_csr(shape, per_row)
    spikes, g = draw.events(neurons, rate), draw.numbers((2, neurons))
    return (g, *arrays, spikes), {"shape": shape, "tau": np.array([[1e5], [2e5]]), "dt": 0.1}


CASES = (
    Case("random", _random(17, 120, 23), differentiable=(G, DATA), tolerance=20),
    Case("random-float", _random(17, 120, 23, (), "float"), differentiable=(G, DATA, SPIKES), tolerance=20),
    Case("homogeneous", _random(17, 120, 23, (), "bool", True), differentiable=(G, DATA), tolerance=20),
    Case("channels", _random(17, 120, (2, 9), (2, 1)), differentiable=(G, DATA), tolerance=20),
    Case("tau-each", _random(17, 120, (2, 9), (2, 9)), differentiable=(G,), tolerance=20),
    Case("tau-by-column", _random(17, 120, (2, 9), (9,)), differentiable=(G,), tolerance=20),
    Case("no-entries", _random(5, 0, 4), differentiable=(G,)),
    Case("no-rows", _random(0, 3, 4), differentiable=(G,)),
    Case("no-columns", _random(4, 3, 0), differentiable=(G,)),
    Case("no-channels", _random(4, 3, (2, 0), (2, 1)), differentiable=(G,)),
    Case("threads", _random(3000, 1_100_000, (2, 400), (2, 1)), tolerance=400),  # sums of 400 terms
    benchmark("4000-80-0.05%", _sized(4000, 80, 0.0005)),
    benchmark("40000-80-0.05%", _sized(40_000, 80, 0.0005)),
    benchmark("100000-100-1.00%", _sized(100_000, 100, 0.01)),
)

_wrong = changes_to(
    {"g": np.ones(4, np.float32)} | MATRIX_2_4 | {"spikes": np.ones(2, bool)}, shape=(2, 4), tau=5.0, dt=0.1
)

INVALID_CALLS = (
    _wrong("integer", TypeError, "g has dtype int32", g=np.ones(4, np.int32)),
    _wrong("integer-data", TypeError, "data has dtype int32", data=np.ones(3, np.int32)),
    _wrong("integer-spikes", TypeError, "spikes has dtype int", spikes=np.ones(2, np.int32)),
    _wrong("short-g", ValueError, "g has 3 elements.*one per column", g=np.ones(3, "f")),
    _wrong("short-data", ValueError, r"data has shape \(2,\)", data=np.ones(2, "f")),
    _wrong("short-spikes", ValueError, "one element per row", spikes=np.ones(3, bool)),
    _wrong("short-indptr", ValueError, "one more than the 2 rows", indptr=np.array([0, 3])),
    _wrong("tau-shape", ValueError, r"tau and dt have shape \(2,\)", tau=np.ones(2, "f")),
    _wrong("tau-rank", ValueError, r"tau and dt have shape \(1, 4\)", tau=np.ones((1, 4), "f")),
    _wrong("tau-zero", ValueError, "tau is or contains 0.0", tau=0.0),
    _wrong("dt-negative", ValueError, "dt is or contains -0.1", dt=-0.1),
)


def _moved(call: Call, outs: Outs) -> int:
    """Count the conductances twice, the spikes, and the entries of active rows."""
    active = active_flags(call.spikes, call.shape[0])
    return size(call.g, call.spikes, *outs) + rows_of(call.indptr, active, call.data, call.indices)


BENCH = Bench(carried={0: 0}, moved=_moved)
