"""The operator `lif_cond_exp_step`: its checks, and its definition, the step of one neuron."""

from __future__ import annotations

from typing import Any

import jax
from jax.typing import ArrayLike

from event_ops.codegen.operators import call_step, define_kernel
from event_ops.kernels.neurons import checked_state, fading_of, membrane_variables
from event_ops.kernels.reference.membrane import relax
from event_ops.kernels.reference.spiking import Surrogate, fire, is_held, unless_held


def lif_cond_exp_step(
    V_m: ArrayLike,
    refractory: ArrayLike,
    g_ex: ArrayLike,
    g_in: ArrayLike,
    *,
    tau_syn_ex: ArrayLike,
    tau_syn_in: ArrayLike,
    E_L: ArrayLike,
    g_L: ArrayLike,
    C_m: ArrayLike,
    E_ex: ArrayLike,
    E_in: ArrayLike,
    V_th: ArrayLike,
    V_reset: ArrayLike,
    t_ref: ArrayLike,
    dt: ArrayLike,
    I_e: ArrayLike = 0.0,
    surrogate: Surrogate | None = None,
    backend: str | None = None,
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]:
    """One step of `C_m * dV/dt = -g_L * (V - E_L) - g_ex * (V - E_ex) - g_in * (V - E_in) + I_e`.

    The conductances decay exactly, g = g * exp(-dt / tau_syn). V takes an exponential Euler step with their
    means over the step, mean = g * (1 - exp(-dt / tau_syn)) * tau_syn / dt: V = V_inf + (V - V_inf) *
    exp(-dt * g / C_m), with g = g_L + mean_ex + mean_in and V_inf = (g_L * E_L + mean_ex * E_ex +
    mean_in * E_in + I_e) / g. It is of second order in dt, stable for every dt, and exact where the
    conductances are constant. Then spike where V > V_th, reset and hold, as in `lif_step`; the conductances
    of a held neuron go on. What arrives in the step is added to g_ex and g_in afterwards, as
    `csr_event_arrivals(..., initial=g_ex)` does, and so moves V from the next step on.

    Differentiable in the float arguments, and through spikes with a surrogate, as `lif_step`.

    Args:
        V_m: any shape, membrane potential in mV; float32 or float64.
        refractory: shape of V_m, remaining refractory time in ms, 0 where there is none; dtype of V_m.
        g_ex: shape of V_m, excitatory conductance in nS, >= 0; dtype of V_m.
        g_in: shape of V_m, inhibitory conductance in nS, >= 0 (its weights, too); dtype of V_m.
        tau_syn_ex: time constant of g_ex in ms, > 0; this and all to I_e: a number, 0-d, or shape of V_m.
        tau_syn_in: time constant of g_in in ms, > 0.
        E_L: reversal potential of the leak in mV.
        g_L: conductance of the leak in nS, > 0.
        C_m: membrane capacitance in pF, > 0; tau_m is C_m / g_L.
        E_ex: excitatory reversal potential in mV.
        E_in: inhibitory reversal potential in mV.
        V_th: threshold in mV.
        V_reset: potential after a spike in mV.
        t_ref: refractory time in ms, >= 0.
        dt: time step in ms, > 0.
        I_e: current from outside in pA, constant over the step.
        surrogate: pseudo-derivative of the spike, from `event_ops.surrogate`, static; None: bool spikes.
        backend: run on this one or not at all; default: choose.

    Returns:
        V_m, refractory, g_ex, g_in: shape and dtype of V_m.
        spikes: shape of V_m; bool, or with a surrogate 0 and 1 in the dtype of V_m.

    Raises:
        TypeError: a dtype that is not taken, or that differs between V_m, refractory, g_ex and g_in; a
            surrogate that is not a function.
        ValueError: a shape that does not fit, or tau_syn_ex, tau_syn_in, g_L, C_m, dt <= 0 or t_ref < 0 where
            their values are known when traced.

    Example:
        >>> import jax.numpy as jnp
        >>> from event_ops import lif_cond_exp_step
        >>> neuron = {"E_L": -60.0, "g_L": 10.0, "C_m": 200.0, "V_th": -50.0, "V_reset": -60.0, "t_ref": 5.0}
        >>> synapses = {"E_ex": 0.0, "E_in": -80.0, "tau_syn_ex": 5.0, "tau_syn_in": 10.0}
        >>> V_m, g_ex, g_in = jnp.array([-50.1, -55.0]), jnp.array([30.0, 0.0]), jnp.array([0.0, 67.0])
        >>> *state, spikes = lif_cond_exp_step(V_m, jnp.zeros(2), g_ex, g_in, **neuron, **synapses, dt=0.1)
        >>> spikes
        Array([ True, False], dtype=bool)

    Source: Brette et al. (2007), J. Comput. Neurosci. 23, 349-398, benchmark 1, for the neuron; Blanes et al.
        (2009), Physics Reports 470, 151-238, for the exponential of a mean, the Magnus expansion of second
        order. NEST's ``iaf_cond_exp`` is this neuron with steps that adapt to a tolerance: its conductances,
        refractory steps and the order within a step agree, its V differs by the error of this scheme; it
        spikes where V >= V_th, and is at V_reset while it is held, where V_m is left as it is here.
    """
    positive = {"tau_syn_ex": tau_syn_ex, "tau_syn_in": tau_syn_in, "g_L": g_L, "C_m": C_m, "dt": dt}
    named_states = {"V_m": V_m, "refractory": refractory, "g_ex": g_ex, "g_in": g_in}
    states = checked_state(named_states, positive=positive, t_ref=t_ref, surrogate=surrogate)
    variables = membrane_variables(
        states[0], E_L=E_L, g_L=g_L, C_m=C_m, E_ex=E_ex, E_in=E_in, I_e=I_e,
        V_th=V_th, V_reset=V_reset, t_ref=t_ref, dt=dt,
    )  # fmt: skip
    for name, tau in (("ex", tau_syn_ex), ("in", tau_syn_in)):
        fading = fading_of(f"tau_syn_{name}", tau, dt, states[0])
        variables[f"decay_{name}"], variables[f"mean_{name}"], _ = fading
    return call_step(kernel, of_neuron, states, variables, surrogate=surrogate, backend=backend)


def of_neuron(
    V_m: Any, refractory: Any, g_ex: Any, g_in: Any, *, decay_ex: Any, decay_in: Any, mean_ex: Any,
    mean_in: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any, rate: Any, V_th: Any, V_reset: Any,
    t_ref: Any, dt: Any, surrogate: Surrogate | None,
) -> tuple[Any, Any, Any, Any, Any]:  # fmt: skip
    """Let conductances move V unless it is held; spike, reset and hold; the conductances decay."""
    moving = V_m, g_ex, g_in, mean_ex, mean_in, g_L, leak, E_ex, E_in, rate
    free = unless_held(is_held(refractory, dt), _moved, *moving)
    V, left, spike = fire(V_m, refractory, free, V_th, V_reset, t_ref, dt, surrogate)
    return V, left, g_ex * decay_ex, g_in * decay_in, spike


def _moved(V_m: Any, g_ex: Any, g_in: Any, mean_ex: Any, mean_in: Any, *membrane: Any) -> Any:
    return relax(V_m, g_ex * mean_ex, g_in * mean_in, *membrane)


kernel = define_kernel("lif_cond_exp_step", "event_ops.neurons", "neuron", "synapse", "elementwise")
