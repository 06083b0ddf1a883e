"""The operator `lif_step`: checks, backends."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks import (
    FLOATS,
    as_array,
    check_dtype,
    check_positive,
    check_same_dtype,
    check_shape,
)
from event_ops.decay import decay_factor, is_known
from ffi_bridge import XLACustomKernel

METHODS = ("exact", "euler")


def lif_step(
    V_m: ArrayLike,
    refractory: ArrayLike,
    I_syn: ArrayLike,
    *,
    tau_m: ArrayLike,
    E_L: ArrayLike,
    V_th: ArrayLike,
    V_reset: ArrayLike,
    t_ref: ArrayLike,
    dt: ArrayLike,
    method: str = "exact",
    backend: str | None = None,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """One step of `tau_m * dV/dt = -(V - E_L) + I_syn`, then spike where V > V_th, reset and hold.

    "exact": V = V_inf + (V - V_inf) * exp(-dt / tau_m) with V_inf = E_L + I_syn, constant over the step;
    "euler": V = V_inf + (V - V_inf) * (1 - dt / tau_m). A neuron with refractory > dt / 2 is held: its V
    stays, it cannot spike, and refractory falls by dt, to 0 at the least; so a spike is followed by
    t_ref / dt held steps, rounded, however the sums of dt are rounded. (Brian2 counts from the beginning of
    the step with the spike, which is one held step fewer: t_ref - dt here.)
    Differentiable in the float arguments; spikes have no derivative, and V_m has none through the reset.

    Args:
        V_m: any shape, membrane potential in mV; float32 or float64.
        refractory: shape of V_m, remaining refractory time in ms, 0 where there is none; dtype of V_m.
        I_syn: shape of V_m or 0-d, synaptic input in mV (a current, divided by the leak conductance).
        tau_m: membrane time constant in ms, > 0; this and the next four: a number, 0-d, or shape of V_m.
        E_L: resting potential in mV.
        V_th: threshold in mV.
        V_reset: potential after a spike in mV.
        t_ref: refractory time in ms, >= 0.
        dt: time step in ms, > 0.
        method: "exact" or "euler", static.
        backend: run on this one or not at all; default: choose.

    Returns:
        V_m, refractory: shape and dtype of V_m.
        spikes: shape of V_m, bool.

    Raises:
        TypeError: a dtype that is not taken, or that differs between V_m, refractory and I_syn.
        ValueError: a shape that does not fit, an unknown method, or tau_m, dt <= 0 or t_ref < 0 where their
            values are known when traced.

    Source: Rotter and Diesmann (1999), Biol. Cybern. 81, 381-402, for the exact step.
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; expected one of {', '.join(map(repr, METHODS))}")
    V_m, refractory, I_syn = map(as_array, (V_m, refractory, I_syn))
    _check_state(V_m, refractory, I_syn)
    check_positive("tau_m", tau_m)
    check_positive("dt", dt)
    check_positive("t_ref", t_ref, zero=True)
    parameters = {
        "tau_m or dt": _decay(tau_m, dt, V_m.dtype, method),
        "E_L": E_L,
        "V_th": V_th,
        "V_reset": V_reset,
        "t_ref": t_ref,
        "dt": dt,
    }
    inputs = [_flat(name, x, V_m) for name, x in (("I_syn", I_syn), *parameters.items())]
    state = jax.ShapeDtypeStruct((V_m.size,), V_m.dtype)
    outs = (state, state, jax.ShapeDtypeStruct((V_m.size,), bool))
    results = kernel(V_m.reshape(-1), refractory.reshape(-1), *inputs, outs=outs, backend=backend)
    return tuple(result.reshape(V_m.shape) for result in results)


def _check_state(V_m: jax.Array, refractory: jax.Array, I_syn: jax.Array) -> None:
    check_dtype("V_m", V_m, FLOATS)
    for name, x in (("refractory", refractory), ("I_syn", I_syn)):
        check_same_dtype(name, x, "V_m", V_m)
    check_shape("refractory", refractory, V_m.shape, why="one per neuron, as V_m")


def _decay(tau_m: Any, dt: Any, dtype: Any, method: str) -> jax.Array:
    """The factor of V - V_inf over one step: with it the two methods are one formula."""
    if method == "exact":
        return decay_factor(tau_m, dt, dtype)
    if is_known(tau_m) and is_known(dt):
        return jnp.asarray(1 - np.asarray(dt, float) / np.asarray(tau_m, float), dtype)
    return 1 - jnp.asarray(dt, dtype) / jnp.asarray(tau_m, dtype)


def _flat(name: str, x: Any, V_m: jax.Array) -> jax.Array:
    """A parameter in the dtype of V_m, 0-d or flat."""
    value = jnp.asarray(x, V_m.dtype)
    check_shape(name, value, (), V_m.shape, why="one for all, or one per neuron, as V_m")
    return value.reshape(-1) if value.ndim else value


kernel = XLACustomKernel("lif_step")
kernel.def_tags("neuron", "elementwise")
kernel.def_reference("event_ops.catalog.lif_step.reference:generator")
kernel.def_numba_kernel("event_ops.catalog.lif_step.numba_cpu:generator")
