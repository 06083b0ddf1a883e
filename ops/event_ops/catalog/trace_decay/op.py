"""The operator `trace_decay`: its checks, and its definition, the step of one trace."""

from __future__ import annotations

from typing import Any

import jax
from jax.typing import ArrayLike

from event_ops.checks.arrays import FLOATS, check_dtype, check_positive, check_same_dtype, check_shape
from event_ops.checks.inputs import as_input
from event_ops.codegen.operators import call_term, define_kernel
from event_ops.kernels.reference.decay import decay_factor
from event_ops.kernels.reference.spiking import at_spike


def trace_decay(
    x: ArrayLike, spikes: ArrayLike, *, tau: ArrayLike, dt: ArrayLike, backend: str | None = None
) -> jax.Array:
    """`y = x * exp(-dt / tau) + spikes`: a trace that decays over dt and then takes what arrives.

    Differentiable in x, float spikes, tau and dt. On CPU the reference is the default: XLA fuses it with its
    neighbours and updates in place where x is not needed again.

    Args:
        x: any shape, the trace; float32 or float64.
        spikes: shape of x; bool (True adds 1), or dtype of x (adds its value).
        tau: time constant in ms, > 0; a number, 0-d, or shape of x for one per element.
        dt: time step in ms, > 0; as tau.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: shape and dtype of x.

    Raises:
        TypeError: a dtype that is not taken, or float spikes of another dtype than x.
        ValueError: a shape that does not fit, or tau or dt <= 0 where their values are known when traced.

    Example:
        >>> import numpy as np
        >>> from event_ops import trace_decay
        >>> trace_decay(np.zeros(2, np.float32), np.array([True, False]), tau=20.0, dt=1.0)
        Array([1., 0.], dtype=float32)

    Source: the exact solution of dx/dt = -x / tau over one step.
    """
    x, spikes = as_input(x), as_input(spikes)
    check_dtype("x", x, FLOATS)
    check_dtype("spikes", spikes, ("bool", *FLOATS))
    check_shape("spikes", spikes, x.shape, why="one per trace x")
    if spikes.dtype != bool:
        check_same_dtype("spikes", spikes, "x", x)
    check_positive("tau", tau)
    check_positive("dt", dt)
    decay = decay_factor(tau, dt, x.dtype)
    check_shape("tau or dt", decay, (), x.shape, why="one for all, or one per trace x")
    return call_term(kernel, of_trace, (x,), {"spikes": spikes, "decay": decay}, backend=backend)[0]


def of_trace(x: Any, *, spikes: Any, decay: Any) -> Any:
    """Return x * decay + spikes, where decay is exp(-dt / tau)."""
    return x * decay + at_spike(spikes, 1)


kernel = define_kernel("trace_decay", "event_ops.neurons", "elementwise", "trace")
kernel.def_kernel("reference", "cpu", "event_ops.neurons.reference:build", asdefault=True)
