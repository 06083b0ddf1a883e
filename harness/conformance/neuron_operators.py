"""`neuron_step` with a model that has a state and a variable of every kind, for the conformance kit.

`pytest --operators neuron_operators`.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops import neuron_step
from event_ops.cases import Arguments, Case, Rounding, changes_to
from event_ops.cases.draw import Draw, drawn
from event_ops.discover import Operator
from event_ops.kernels.oracle.encodings import spike_compact
from event_ops.kernels.oracle.lif import each_neuron
from event_ops.kernels.oracle.noise import numbers
from event_ops.neurons.step import kernel
from event_ops.surrogate import atan

NEURON: dict[str, Any] = {
    "tau_m": 20.0, "E_L": -65.0, "tau_w": 100.0, "a": 2.0, "V_th": -50.0, "V_reset": -60.0, "b": 3.0,
    "t_ref": 0.2, "dt": 0.1,
}  # fmt: skip


def adaptive(
    V: Any, w: Any, *, I_syn: Any, driven: Any, tau_m: Any, E_L: Any, tau_w: Any, a: Any, dt: Any
) -> Any:
    """Move V towards its input, exactly, and the adaptation towards a function of V, by Euler's method."""
    V_inf = E_L + jnp.where(driven, I_syn, 0) - w
    moved = V_inf + (V - V_inf) * jnp.exp(-dt / tau_m)
    return moved, w + dt / tau_w * (a * jnp.tanh((moved - E_L) / 10) - w)


STEP = neuron_step(
    adaptive,
    threshold=lambda V, w, *, V_th: V - V_th,
    reset=lambda V, w, *, V_reset, b: (V_reset, w + b),
    held=("V",),
)


NOISY = neuron_step(
    lambda V, *, xi, eta, I_syn, dt: V + dt * (I_syn - V) + 0.3 * xi + eta,
    threshold=lambda V, *, V_th: V - V_th,
    reset=lambda V, *, V_reset: V_reset,
    noise={"xi": "normal", "eta": "uniform"},
)


def noisy_step(V: Any, I_syn: Any, seed: Any, step: Any, **named: Any) -> tuple[jax.Array, ...]:
    """Take a step of a model that draws two numbers for each neuron."""
    return NOISY(V, I_syn=I_syn, seed=seed, step=step, **named)


def noisy_oracle(
    V: Any, I_syn: Any, seed: Any, step: Any, *, V_th: float, V_reset: float, dt: float, first: Any = 0
) -> Any:
    """Take the step in NumPy."""
    options = {"seed": seed, "step": step, "first": first}
    xi, eta = numbers(V.size, "normal", **options), numbers(V.size, "uniform", **options, stream=1)
    moved = V + dt * (I_syn - V) + 0.3 * xi.reshape(V.shape) + eta.reshape(V.shape)
    return np.where(moved > V_th, V_reset, moved), moved > V_th


def adaptive_step(
    V: Any, w: Any, refractory: Any, I_syn: Any, driven: Any, **named: Any
) -> tuple[jax.Array, ...]:
    """Take a step of the model."""
    return STEP(V, w, refractory, I_syn=I_syn, driven=driven, **named)


def neuron(
    V: float, w: float, left: float, I_syn: float, driven: float, tau_m: float, E_L: float, tau_w: float,
    a: float, V_th: float, V_reset: float, b: float, t_ref: float, dt: float,
) -> tuple[float, float, float, bool]:  # fmt: skip
    """The same, of Python's numbers."""
    V_inf = E_L + (I_syn if driven else 0) - w
    moved = V_inf + (V - V_inf) * math.exp(-dt / tau_m)
    w = w + dt / tau_w * (a * math.tanh((moved - E_L) / 10) - w)
    if left > dt / 2:
        return V, w, max(left - dt, 0), False
    return (V_reset, w + b, t_ref, True) if moved > V_th else (moved, w, 0, False)


def oracle(
    V: Any, w: Any, refractory: Any, I_syn: Any, driven: Any, *,
    surrogate: Any = None, capacity: Any = None, **parameters: Any,
) -> Any:  # fmt: skip
    """Take the step in a loop over the neurons, and list the spikes where there is a capacity."""
    named = [parameters[name] for name in NEURON]
    after = each_neuron(neuron, (V, w, refractory), (I_syn, driven, *named), surrogate)
    return after if capacity is None else (*after, *spike_compact(after[-1], capacity=capacity))


@drawn
def _random(draw: Draw, size: Any, *, each: bool = False, **options: Any) -> Arguments:
    V, w = draw.rng.uniform(-60, -45, size), draw.rng.uniform(0, 2, size)
    held = np.where(draw.rng.random(size) < 0.3, draw.rng.integers(1, 3, size) * 0.1, 0.0)
    current = draw.rng.normal(0, 20, size)
    states = tuple(np.asarray(x).astype(draw.dtype) for x in (V, w, held, current))
    parameters = draw.spread(NEURON, np.shape(V), 0.1) if each else NEURON
    return (*states, np.asarray(draw.rng.random(size) < 0.7)), parameters | options


@drawn
def _noisy(draw: Draw, size: Any, *, block: int = 0) -> Arguments:
    states = tuple(draw.rng.normal(0, 1, size).astype(draw.dtype) for _ in range(2))
    more = {"first": np.int32(block)} if block else {}
    return (*states, np.uint32(77), np.int32(5)), {"V_th": 1.0, "V_reset": 0.0, "dt": 0.1} | more


@drawn
def _threshold(draw: Draw) -> Arguments:
    """Return potentials at the threshold, just above and just below it, held above it, and NaN."""
    V = np.array([-50, -49.9, -50.1, -40, np.nan, -40], draw.dtype)
    w, held = np.zeros_like(V), np.array([0, 0, 0, 0.1, 0, 0.04], draw.dtype)
    return (V, w, held, V - V[0] + 15, np.ones(6, bool)), NEURON | {"tau_m": np.asarray(1e6, draw.dtype)}


_MOVING = 0, 1, 3
_STATES = dict.fromkeys(("V", "w", "refractory", "I_syn"), np.zeros(3, np.float32))
_wrong = changes_to(_STATES | {"driven": np.ones(3, bool)}, **NEURON)
_COLUMNS = dict.fromkeys(("V", "w", "refractory"), np.zeros((3, 1), np.float32))

OPERATORS = (
    Operator(
        "neuron_step_adaptive",
        adaptive_step,
        kernel,
        ("float32", "float64"),
        (
            Case("random", _random(33), differentiable=_MOVING),
            Case("each", _random((4, 5), each=True), differentiable=_MOVING, tolerance=4),
            Case("threshold", _threshold()),
            Case("surrogate", _random(33, surrogate=atan(0.1))),
            Case("empty", _random(0), differentiable=_MOVING),
            Case("single", _random(()), differentiable=_MOVING),
            Case("threads", _random(40_000)),
            Case("listed", _random(33, capacity=33), differentiable=_MOVING),
            Case("listed-surrogate", _random(33, capacity=3, surrogate=atan(0.1))),
            Case("listed-threads", _random(40_000, capacity=250)),
        ),
        (
            _wrong("integer", TypeError, "V has dtype int32", V=np.zeros(3, np.int32)),
            _wrong("mixed", TypeError, "w has dtype int32 and V has", w=np.zeros(3, np.int32)),
            _wrong("short", ValueError, "refractory has sh", refractory=np.zeros(2, "f")),
            _wrong("short-I", ValueError, r"I_syn has shape \(2,\)", I_syn=np.zeros(2, "f")),
            _wrong("halves", TypeError, "I_syn has dtype float", I_syn=np.zeros(3, np.float16)),
            _wrong("t_ref", ValueError, "t_ref is or contains -1.0", t_ref=-1.0),
            _wrong("dt", ValueError, "dt is or contains 0.0", dt=0.0),
            _wrong("unknown", TypeError, "the unknown tau; expected by name: t_ref", tau=1.0),
            _wrong("grid", ValueError, "V has 2 dimensions", **_COLUMNS, capacity=3),
            _wrong("capacity", ValueError, "capacity is -1; expected >= 0", capacity=-1),
            _wrong("surrogate", TypeError, r"call it, atan\(\)", surrogate=atan),
        ),
        oracle,
        Rounding(8),
    ),
    Operator(
        "neuron_step_noisy",
        noisy_step,
        kernel,
        ("float32", "float64"),
        (
            Case("random", _noisy(133), differentiable=(0, 1)),
            Case("grid", _noisy((4, 5)), differentiable=(0, 1)),
            Case("a-block", _noisy(600, block=61), differentiable=(0, 1)),
            Case("empty", _noisy(0), differentiable=(0, 1)),
            Case("threads", _noisy(60_000)),
        ),
        (),
        noisy_oracle,
        Rounding(8),
    ),
)  # fmt: skip
