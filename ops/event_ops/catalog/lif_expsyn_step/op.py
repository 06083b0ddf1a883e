"""The operator `lif_expsyn_step`: its checks, and its definition, the step of one neuron."""

from __future__ import annotations

from typing import Any

import jax
from jax.typing import ArrayLike

from event_ops.checks.inputs import computed
from event_ops.checks.neuron import each_per_neuron, per_neuron
from event_ops.codegen.operators import call_step, define_kernel
from event_ops.kernels.neurons import checked_state
from event_ops.kernels.reference.decay import current_gain, decay_factor
from event_ops.kernels.reference.spiking import Surrogate, approach, fire, is_held, unless_held


def lif_expsyn_step(
    V_m: ArrayLike,
    refractory: ArrayLike,
    I_syn: ArrayLike,
    *,
    tau_m: ArrayLike,
    tau_syn: ArrayLike,
    E_L: ArrayLike,
    V_th: ArrayLike,
    V_reset: ArrayLike,
    t_ref: ArrayLike,
    dt: ArrayLike,
    R_m: ArrayLike = 1.0,
    I_e: ArrayLike = 0.0,
    jump: ArrayLike = 0.0,
    surrogate: Surrogate | None = None,
    backend: str | None = None,
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """One exact step of `tau_m * dV/dt = -(V - E_L) + R_m * (I_syn + I_e)`, `tau_syn * dI_syn/dt = -I_syn`.

    V = V_inf + (V - V_inf) * exp(-dt / tau_m) + gain * I_syn and I_syn = I_syn * exp(-dt / tau_syn), with
    V_inf = E_L + R_m * I_e and gain = R_m * tau_syn / (tau_syn - tau_m) * (exp(-dt / tau_syn) -
    exp(-dt / tau_m)); then spike where V > V_th, reset and hold. What arrives in the step is added to I_syn
    afterwards, and so moves V in the next one. A neuron with refractory > dt / 2 is held, as in `lif_step`;
    its current goes on.

    All is updated in place where it is not needed again: a network's step reads and writes three numbers per
    neuron, where `lif_step`, a drive and a decay by themselves read and write six. Add to the current with
    `poisson_input(..., initial=I_syn)` and `csr_event_arrivals(..., initial=I_syn)`.

    Differentiable in the float arguments, and through spikes with a surrogate, as `lif_step`.

    Args:
        V_m: any shape, membrane potential in mV; float32 or float64.
        refractory: shape of V_m, remaining refractory time in ms, 0 where there is none; dtype of V_m.
        I_syn: shape of V_m, synaptic current in the unit of I_e; dtype of V_m.
        tau_m: membrane time constant in ms, > 0; this and all below: a number, 0-d, or shape of V_m.
        tau_syn: time constant of the current in ms, > 0; it may be tau_m.
        E_L: resting potential in mV.
        V_th: threshold in mV.
        V_reset: potential after a spike in mV.
        t_ref: refractory time in ms, >= 0.
        dt: time step in ms, > 0.
        R_m: membrane resistance, mV per unit of current, tau_m / C_m: 1 for currents in mV, GOhm for pA.
        I_e: constant current from outside.
        jump: what arrives through delta synapses in mV: added to V before the threshold, lost while held.
        surrogate: pseudo-derivative of the spike, from `event_ops.surrogate`, static; None: bool spikes.
        backend: run on this one or not at all; default: choose.

    Returns:
        V_m, refractory, I_syn: shape and dtype of V_m.
        spikes: shape of V_m; bool, or with a surrogate 0 and 1 in the dtype of V_m.

    Raises:
        TypeError: a dtype that is not taken, or that differs between V_m, refractory and I_syn; a surrogate
            that is not a function.
        ValueError: a shape that does not fit, or tau_m, tau_syn, dt <= 0 or t_ref < 0 where their values are
            known when traced.

    Example:
        >>> import jax.numpy as jnp
        >>> from event_ops import lif_expsyn_step
        >>> neuron = {"tau_m": 10.0, "E_L": -65.0, "V_th": -50.0, "V_reset": -65.0, "t_ref": 2.0, "dt": 0.1}
        >>> V_m, refractory, I_syn = jnp.array([-50.1, -60.0]), jnp.zeros(2), jnp.array([1000.0, 0.0])
        >>> state = lif_expsyn_step(V_m, refractory, I_syn, tau_syn=0.5, R_m=0.04, **neuron)
        >>> spikes = state[3]
        >>> spikes
        Array([ True, False], dtype=bool)

    Source: Rotter and Diesmann (1999), Biol. Cybern. 81, 381-402; NEST's ``iaf_psc_exp``, which spikes where
        V >= V_th, with one current for both signs.
    """
    positive = {"tau_m": tau_m, "tau_syn": tau_syn, "dt": dt}
    named_states = {"V_m": V_m, "refractory": refractory, "I_syn": I_syn}
    states = checked_state(named_states, positive=positive, t_ref=t_ref, surrogate=surrogate)
    V_m = states[0]
    decay = per_neuron("tau_m or dt", decay_factor(tau_m, dt, V_m.dtype), V_m)
    decay_syn = per_neuron("tau_syn or dt", decay_factor(tau_syn, dt, V_m.dtype), V_m)
    gain = per_neuron("tau_m, tau_syn or dt", current_gain(tau_m, tau_syn, dt, V_m.dtype), V_m)
    p = each_per_neuron(
        V_m, R_m=R_m, E_L=E_L, I_e=I_e, V_th=V_th, V_reset=V_reset, t_ref=t_ref, dt=dt, jump=jump
    )
    gain, V_inf = computed(_of_resistance, p.pop("R_m"), gain, p.pop("E_L"), p.pop("I_e"))
    variables = {"decay": decay, "decay_syn": decay_syn, "gain": gain, "V_inf": V_inf, **p}
    return call_step(kernel, of_neuron, states, variables, surrogate=surrogate, backend=backend)


def _of_resistance(R_m: Any, gain: Any, E_L: Any, I_e: Any) -> tuple[Any, Any]:
    return R_m * gain, E_L + R_m * I_e


def of_neuron(
    V_m: Any, refractory: Any, I_syn: Any, *, decay: Any, decay_syn: Any, gain: Any, V_inf: Any, V_th: Any,
    V_reset: Any, t_ref: Any, dt: Any, jump: Any, surrogate: Surrogate | None,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Move towards V_inf, and by the current, unless held; spike, reset and hold; the current decays."""
    free = unless_held(is_held(refractory, dt), _moved, V_m, V_inf, decay, gain, I_syn) + jump
    V, left, spike = fire(V_m, refractory, free, V_th, V_reset, t_ref, dt, surrogate)
    return V, left, I_syn * decay_syn, spike


def _moved(V_m: Any, V_inf: Any, decay: Any, gain: Any, I_syn: Any) -> Any:
    return approach(V_m, V_inf, decay) + gain * I_syn


kernel = define_kernel("lif_expsyn_step", "event_ops.neurons", "neuron", "synapse", "elementwise")
