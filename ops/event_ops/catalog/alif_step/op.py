"""The operator `alif_step`: its checks, and its definition, the step of one neuron."""

from __future__ import annotations

from typing import Any

import jax
from jax.typing import ArrayLike

from event_ops.checks.neuron import check_method, current_per_neuron, each_per_neuron, per_neuron
from event_ops.codegen.operators import call_step, define_kernel
from event_ops.kernels.neurons import checked_state
from event_ops.kernels.reference.decay import decay_factor, membrane_decay
from event_ops.kernels.reference.spiking import Surrogate, approach, at_spike, fire, is_held, unless_held


def alif_step(
    V_m: ArrayLike,
    refractory: ArrayLike,
    a: ArrayLike,
    I_syn: ArrayLike,
    *,
    tau_m: ArrayLike,
    tau_a: ArrayLike,
    beta: ArrayLike,
    E_L: ArrayLike,
    V_th: ArrayLike,
    V_reset: ArrayLike,
    t_ref: ArrayLike,
    dt: ArrayLike,
    jump: ArrayLike = 0.0,
    method: str = "exact",
    surrogate: Surrogate | None = None,
    backend: str | None = None,
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """One LIF step with spikes where `V > V_th + beta * a`, then `a = a * exp(-dt / tau_a) + spikes`.

    Integration, reset and refractory time are those of `lif_step`. The threshold adapts: each spike raises it
    by beta from the next step on, and a decays at every step, also while the neuron is held. (With a spike
    that adds less than 1 to a, as in Bellec et al. 2018, scale beta: only beta * a counts.)

    Differentiable in the float arguments; V_m and refractory have no derivative through the reset (it is
    detached). Spikes have none either, unless there is a surrogate: then they are floats, whose derivative is
    surrogate(x) * dx with x = V - V_th - beta * a, with V before the reset and x in mV, not normalised; that
    of a held neuron is 0. Through the spike that it takes, a has this derivative too.

    Args:
        V_m: any shape, membrane potential in mV; float32 or float64.
        refractory: shape of V_m, remaining refractory time in ms, 0 where there is none; dtype of V_m.
        a: shape of V_m, adaptation, a decaying count of the neuron's spikes, no unit; dtype of V_m.
        I_syn: shape of V_m or 0-d, synaptic input in mV (a current, divided by the leak conductance); dtype
            of V_m, or a number.
        tau_m: membrane time constant in ms, > 0; this and all to jump: a number, 0-d, or shape of V_m.
        tau_a: time constant of the adaptation in ms, > 0.
        beta: rise of the threshold per unit of a, in mV.
        E_L: resting potential in mV.
        V_th: threshold of a neuron without adaptation in mV.
        V_reset: potential after a spike in mV.
        t_ref: refractory time in ms, >= 0.
        dt: time step in ms, > 0.
        jump: what arrives through delta synapses in mV: added to V before the threshold, lost while held.
        method: "exact" or "euler", as in `lif_step`, static.
        surrogate: pseudo-derivative of the spike, from `event_ops.surrogate`, static; None: bool spikes.
        backend: run on this one or not at all; default: choose.

    Returns:
        V_m, refractory, a: shape and dtype of V_m.
        spikes: shape of V_m; bool, or with a surrogate 0 and 1 in the dtype of V_m.

    Raises:
        TypeError: a dtype that is not taken, or that differs between V_m, refractory, a and I_syn; a
            surrogate that is not a function.
        ValueError: a shape that does not fit, an unknown method, or tau_m, tau_a, dt <= 0 or t_ref < 0 where
            their values are known when traced.

    Source: Bellec et al. (2018), NeurIPS 31, 787-797; Bellec et al. (2020), Nature Communications 11, 3625,
        for the threshold; Rotter and Diesmann (1999), Biol. Cybern. 81, 381-402, for the exact step.
    """
    check_method(method)
    named_states = {"V_m": V_m, "refractory": refractory, "a": a}
    positive = {"tau_m": tau_m, "tau_a": tau_a, "dt": dt}
    states = checked_state(named_states, positive=positive, t_ref=t_ref, surrogate=surrogate)
    V_m = states[0]
    variables = {
        "I_syn": current_per_neuron("I_syn", I_syn, V_m),
        "decay": per_neuron("tau_m or dt", membrane_decay(tau_m, dt, V_m.dtype, method), V_m),
        "decay_a": per_neuron("tau_a or dt", decay_factor(tau_a, dt, V_m.dtype), V_m),
        **each_per_neuron(V_m, beta=beta, E_L=E_L, V_th=V_th, V_reset=V_reset, t_ref=t_ref, dt=dt, jump=jump),
    }
    return call_step(kernel, of_neuron, states, variables, surrogate=surrogate, backend=backend)


def of_neuron(
    V_m: Any, refractory: Any, a: Any, *, I_syn: Any, decay: Any, decay_a: Any, beta: Any, E_L: Any,
    V_th: Any, V_reset: Any, t_ref: Any, dt: Any, jump: Any, surrogate: Surrogate | None,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Move as in `lif_step`, spike above the adapted threshold, reset, hold and adapt."""
    free = unless_held(is_held(refractory, dt), approach, V_m, E_L + I_syn, decay) + jump
    V, left, spike = fire(V_m, refractory, free, V_th + beta * a, V_reset, t_ref, dt, surrogate)
    return V, left, a * decay_a + at_spike(spike, 1), spike


kernel = define_kernel("alif_step", "event_ops.neurons", "neuron", "elementwise")
