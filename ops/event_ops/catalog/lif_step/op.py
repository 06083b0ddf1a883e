"""The operator `lif_step`: its checks, and its definition, the step of one neuron."""

from __future__ import annotations

from typing import Any

import jax
from jax.typing import ArrayLike

from event_ops.checks.neuron import check_method, current_per_neuron, each_per_neuron, per_neuron
from event_ops.codegen.operators import call_step, define_kernel
from event_ops.kernels.neurons import checked_state
from event_ops.kernels.reference.decay import membrane_decay
from event_ops.kernels.reference.spiking import Surrogate, approach, fire, is_held, unless_held


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
    jump: ArrayLike = 0.0,
    method: str = "exact",
    surrogate: Surrogate | None = None,
    backend: str | None = None,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """One step of `tau_m * dV/dt = -(V - E_L) + I_syn`, then spike where V > V_th, reset and hold.

    "exact": V = V_inf + (V - V_inf) * exp(-dt / tau_m) with V_inf = E_L + I_syn, constant over the step;
    "euler": V = V_inf + (V - V_inf) * (1 - dt / tau_m). Then V = V + jump, which is how delta synapses act:
    the step is that of NEST's ``iaf_psc_delta``, which spikes where V >= V_th. A neuron with
    refractory > dt / 2 is held: its V stays, it cannot spike, and refractory falls by dt, to 0 at the least;
    so a spike is followed by t_ref / dt held steps, rounded, however the sums of dt are rounded. (Brian2
    counts from the beginning of the step with the spike, which is one held step fewer: t_ref - dt here.)

    Differentiable in the float arguments; V_m and refractory have no derivative through the reset (it is
    detached). Spikes have none either, unless there is a surrogate: then they are floats whose derivative is
    surrogate(V - V_th) * d(V - V_th), with V before the reset and V - V_th in mV, not normalised; that of a
    held neuron is 0.

    Args:
        V_m: any shape, membrane potential in mV; float32 or float64.
        refractory: shape of V_m, remaining refractory time in ms, 0 where there is none; dtype of V_m.
        I_syn: shape of V_m or 0-d, synaptic input in mV (a current, divided by the leak conductance); dtype
            of V_m, or a number.
        tau_m: membrane time constant in ms, > 0; this and all to jump: a number, 0-d, or shape of V_m.
        E_L: resting potential in mV.
        V_th: threshold in mV.
        V_reset: potential after a spike in mV.
        t_ref: refractory time in ms, >= 0.
        dt: time step in ms, > 0.
        jump: what arrives through delta synapses in mV: added to V before the threshold, lost while held.
        method: "exact" or "euler", static.
        surrogate: pseudo-derivative of the spike, from `event_ops.surrogate`, static; None: bool spikes.
        backend: run on this one or not at all; default: choose.

    Returns:
        V_m, refractory: shape and dtype of V_m.
        spikes: shape of V_m; bool, or with a surrogate 0 and 1 in the dtype of V_m.

    Raises:
        TypeError: a dtype that is not taken, or that differs between V_m, refractory and I_syn; a surrogate
            that is not a function.
        ValueError: a shape that does not fit, an unknown method, or tau_m, dt <= 0 or t_ref < 0 where their
            values are known when traced.

    Example:
        >>> import jax.numpy as jnp
        >>> from event_ops import lif_step
        >>> neuron = {"tau_m": 20.0, "E_L": -65.0, "V_th": -50.0, "V_reset": -60.0, "t_ref": 2.0, "dt": 1.0}
        >>> V_m, refractory, spikes = lif_step(jnp.array([-51.0, -60.0]), jnp.zeros(2), 40.0, **neuron)
        >>> spikes, refractory
        (Array([ True, False], dtype=bool), Array([2., 0.], dtype=float32))

    Source: Rotter and Diesmann (1999), Biol. Cybern. 81, 381-402, for the exact step.
    """
    check_method(method)
    named_states = {"V_m": V_m, "refractory": refractory}
    positive = {"tau_m": tau_m, "dt": dt}
    states = checked_state(named_states, positive=positive, t_ref=t_ref, surrogate=surrogate)
    V_m = states[0]
    variables = {
        "I_syn": current_per_neuron("I_syn", I_syn, V_m),
        "decay": per_neuron("tau_m or dt", membrane_decay(tau_m, dt, V_m.dtype, method), V_m),
        **each_per_neuron(V_m, E_L=E_L, V_th=V_th, V_reset=V_reset, t_ref=t_ref, dt=dt, jump=jump),
    }
    return call_step(kernel, of_neuron, states, variables, surrogate=surrogate, backend=backend)


def of_neuron(
    V_m: Any, refractory: Any, *, I_syn: Any, decay: Any, E_L: Any, V_th: Any, V_reset: Any, t_ref: Any,
    dt: Any, jump: Any, surrogate: Surrogate | None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Move towards E_L + I_syn unless held, spike above V_th, reset and hold; decay is that of V - V_inf."""
    free = unless_held(is_held(refractory, dt), approach, V_m, E_L + I_syn, decay) + jump
    return fire(V_m, refractory, free, V_th, V_reset, t_ref, dt, surrogate)


kernel = define_kernel("lif_step", "event_ops.neurons", "neuron", "elementwise")
