"""The operator `stp_step`: its checks, and its definition, the step of one synapse."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks.arrays import (
    FLOATS,
    check_dtype,
    check_positive,
    check_same_dtype,
    check_shape,
    is_known,
)
from event_ops.checks.inputs import as_input, in_dtype, is_number
from event_ops.checks.neuron import per_neuron
from event_ops.codegen.operators import call_term, define_kernel
from event_ops.kernels.reference.decay import decay_factor, is_constant
from event_ops.kernels.reference.spiking import at_spike


def stp_step(
    x: ArrayLike,
    u: ArrayLike,
    spikes: ArrayLike,
    *,
    U: ArrayLike,
    tau_rec: ArrayLike,
    tau_fac: ArrayLike,
    dt: ArrayLike,
    backend: str | None = None,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """`u += U * (1 - u); released = u * x; x -= released` at a spike: short-term plasticity, and its release.

    The synapses of Tsodyks and Markram: x is the fraction of the resources that are at hand, u the fraction
    of these that a spike releases. Between spikes x recovers, dx/dt = (1 - x) / tau_rec, and u fades,
    du/dt = -u / tau_fac, both exactly; then the spikes of the step act, in the order of the formula. Begin
    with x = 1 and u = 0. What is released is 0 where there is no spike; weights are multiplied by it:
    `Events(released) @ A` where the states are those of presynaptic neurons, whose synapses are alike.
    States of single synapses are arrays of (nse,), and spikes those of their presynaptic neurons.

    Differentiable in x, u, float spikes and all parameters that are JAX arrays.

    Args:
        x: any shape, resources at hand, in [0, 1]; float32 or float64.
        u: shape of x, the fraction that the last spike released, as it fades, in [0, 1]; dtype of x.
        spikes: shape of x; bool, or the dtype of x: a spike of 0.5 moves u by half of it, and releases half.
        U: the increment of u, in [0, 1]: what the first of all spikes releases; this and all to dt: a number,
            0-d, or shape of x.
        tau_rec: time constant of recovery in ms, > 0.
        tau_fac: time constant of facilitation in ms, >= 0; with 0 there is depression alone.
        dt: time step in ms, > 0.
        backend: run on this one or not at all; default: choose.

    Returns:
        x, u: shape and dtype of x, after the spikes.
        released: shape and dtype of x; u * x of the spikes, each with the x in front of it.

    Raises:
        TypeError: a dtype that is not taken, or another one than that of x.
        ValueError: a shape that does not fit, or, where their values are known when traced, U outside of
            [0, 1], tau_rec or dt <= 0, tau_fac < 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from event_ops import stp_step
        >>> x, u = jnp.ones(1), jnp.zeros(1)
        >>> synapse = {"U": 0.5, "tau_rec": 800.0, "tau_fac": 0.0, "dt": 10.0}
        >>> for _ in range(3):  # a spike every 10 ms: depression
        ...     x, u, released = stp_step(x, u, jnp.array([True]), **synapse)
        ...     print(f"{released[0]:.2f}")
        0.50
        0.25
        0.13

    Source: Tsodyks, Pawelzik and Markram (1998), Neural Computation 10, 821-835; NEST's
        ``tsodyks2_synapse`` releases the same.
    """
    x, u, spikes = as_input(x, "x"), as_input(u, "u"), as_input(spikes, "spikes")
    check_dtype("x", x, FLOATS)
    check_same_dtype("u", u, "x", x)
    check_shape("u", u, x.shape, why="one per synapse, as x")
    check_dtype("spikes", spikes, ("bool", *FLOATS))
    check_shape("spikes", spikes, x.shape, why="one per synapse, as x")
    if spikes.dtype != bool:
        check_same_dtype("spikes", spikes, "x", x)
    _check_fraction(U)
    check_positive("tau_rec", tau_rec)
    check_positive("tau_fac", tau_fac, zero=True)
    check_positive("dt", dt)
    variables = {
        "spikes": spikes,
        "U": per_neuron("U", U, x),
        "recovery": per_neuron("tau_rec or dt", decay_factor(tau_rec, dt, x.dtype), x),
        "fading": per_neuron("tau_fac or dt", _fading(tau_fac, dt, x.dtype), x),
    }
    new_x, new_u, released = call_term(
        kernel, of_synapse, (x, u), variables, more=(x.dtype,), backend=backend
    )
    return new_x, new_u, released


def of_synapse(x: Any, u: Any, *, spikes: Any, U: Any, recovery: Any, fading: Any) -> tuple[Any, Any, Any]:
    """Return x and u after a step, and the release; recovery and fading are exp(-dt / tau)."""
    u = u * fading
    u = u + at_spike(spikes, U * (1 - u))
    x = 1 + (x - 1) * recovery
    released = at_spike(spikes, u * x)
    return x - released, u, released


def _fading(tau: Any, dt: Any, dtype: Any) -> jax.Array:
    """Return exp(-dt / tau), and 0 where tau is 0."""
    if is_number(tau):
        return decay_factor(tau, dt, dtype) if tau else in_dtype(0, dtype)
    xp: Any = np if is_constant(tau) else jnp
    some = xp.asarray(tau) > 0
    factor = decay_factor(xp.where(some, tau, xp.ones_like(tau)), dt, dtype)
    return jnp.where(some, factor, jnp.zeros((), factor.dtype))


def _check_fraction(U: Any) -> None:
    if not is_known(U):
        return
    values = np.asarray(U)
    wrong = values[~((values >= 0) & (values <= 1))]
    if wrong.size:
        raise ValueError(f"U is or contains {wrong.flat[0]}; expected fractions, in [0, 1]")


kernel = define_kernel("stp_step", "event_ops.neurons", "synapse", "elementwise")
