"""The operator `lif_cond_alpha_step`: its checks, and its definition, the step of one neuron."""

from __future__ import annotations

from typing import Any

import jax
from jax.typing import ArrayLike

from event_ops.codegen.operators import call_step, define_kernel
from event_ops.kernels.neurons import checked_state, fading_of, membrane_variables
from event_ops.kernels.reference.membrane import relax
from event_ops.kernels.reference.spiking import Surrogate, fire, is_held, unless_held


def lif_cond_alpha_step(
    V_m: ArrayLike,
    refractory: ArrayLike,
    g_ex: ArrayLike,
    g_in: ArrayLike,
    dg_ex: ArrayLike,
    dg_in: ArrayLike,
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
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]:
    """One step of `C_m * dV/dt = -g_L * (V - E_L) - g_ex * (V - E_ex) - g_in * (V - E_in) + I_e`.

    The conductances are sums of alpha functions: dg/dt = x - g / tau_syn and tau_syn * dx/dt = -x, where x is
    dg_ex or dg_in. Both are solved exactly, g = (g + dt * x) * exp(-dt / tau_syn) and x = x * exp(-dt /
    tau_syn). A spike of weight w adds w * e / tau_syn to x; so g rises by w, which it reaches after tau_syn.
    V takes the step of `lif_cond_exp_step`, with the means of these conductances over the step, of second
    order in dt and stable. Then spike where V > V_th, reset and hold, as in `lif_step`; the conductances of a
    held neuron go on. What arrives in the step is added to dg_ex and dg_in afterwards.

    Differentiable in the float arguments, and through spikes with a surrogate, as `lif_step`.

    Args:
        V_m: any shape, membrane potential in mV; float32 or float64.
        refractory: shape of V_m, remaining refractory time in ms, 0 where there is none; dtype of V_m.
        g_ex: shape of V_m, excitatory conductance in nS, >= 0; dtype of V_m.
        g_in: shape of V_m, inhibitory conductance in nS, >= 0 (its weights, too); dtype of V_m.
        dg_ex: shape of V_m, what raises g_ex, in nS/ms; dtype of V_m.
        dg_in: shape of V_m, what raises g_in, in nS/ms; dtype of V_m.
        tau_syn_ex: time to the peak of g_ex in ms, > 0; this and all to I_e: a number, 0-d, or shape of V_m.
        tau_syn_in: time to the peak of g_in in ms, > 0.
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
        V_m, refractory, g_ex, g_in, dg_ex, dg_in: shape and dtype of V_m.
        spikes: shape of V_m; bool, or with a surrogate 0 and 1 in the dtype of V_m.

    Raises:
        TypeError: a dtype that is not taken, or that differs between the states; a surrogate that is not a
            function.
        ValueError: a shape that does not fit, or tau_syn_ex, tau_syn_in, g_L, C_m, dt <= 0 or t_ref < 0 where
            their values are known when traced.

    Source: Roth and van Rossum (2009), in De Schutter (ed.), Computational Modeling Methods for
        Neuroscientists, MIT Press, chapter 6, for alpha functions; Rotter and Diesmann (1999), Biol. Cybern.
        81, 381-402, for their exact steps. NEST's ``iaf_cond_alpha`` is this neuron with steps that adapt to
        a tolerance: what is said of ``iaf_cond_exp`` at `lif_cond_exp_step` holds for it, too.
    """
    positive = {"tau_syn_ex": tau_syn_ex, "tau_syn_in": tau_syn_in, "g_L": g_L, "C_m": C_m, "dt": dt}
    named_states = {"V_m": V_m, "refractory": refractory, "g_ex": g_ex, "g_in": g_in}
    named_states |= {"dg_ex": dg_ex, "dg_in": dg_in}
    states = checked_state(named_states, positive=positive, t_ref=t_ref, surrogate=surrogate)
    variables = membrane_variables(
        states[0], E_L=E_L, g_L=g_L, C_m=C_m, E_ex=E_ex, E_in=E_in, I_e=I_e,
        V_th=V_th, V_reset=V_reset, t_ref=t_ref, dt=dt,
    )  # fmt: skip
    for name, tau in (("ex", tau_syn_ex), ("in", tau_syn_in)):
        fading = fading_of(f"tau_syn_{name}", tau, dt, states[0])
        variables[f"decay_{name}"], variables[f"mean_{name}"], variables[f"rise_{name}"] = fading
    return call_step(kernel, of_neuron, states, variables, surrogate=surrogate, backend=backend)


def of_neuron(
    V_m: Any, refractory: Any, g_ex: Any, g_in: Any, dg_ex: Any, dg_in: Any, *, decay_ex: Any, decay_in: Any,
    mean_ex: Any, mean_in: Any, rise_ex: Any, rise_in: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any,
    rate: Any, V_th: Any, V_reset: Any, t_ref: Any, dt: Any, surrogate: Surrogate | None,
) -> tuple[Any, ...]:  # fmt: skip
    """Let conductances move V unless it is held; spike, reset and hold; the conductances go on."""
    synapses = g_ex, g_in, dg_ex, dg_in, mean_ex, mean_in, rise_ex, rise_in
    free = unless_held(is_held(refractory, dt), _moved, V_m, *synapses, g_L, leak, E_ex, E_in, rate)
    V, left, spike = fire(V_m, refractory, free, V_th, V_reset, t_ref, dt, surrogate)
    later = (g_ex + dt * dg_ex) * decay_ex, (g_in + dt * dg_in) * decay_in
    return V, left, *later, dg_ex * decay_ex, dg_in * decay_in, spike


def _moved(
    V_m: Any, g_ex: Any, g_in: Any, dg_ex: Any, dg_in: Any, mean_ex: Any, mean_in: Any, rise_ex: Any,
    rise_in: Any, *membrane: Any,
) -> Any:  # fmt: skip
    return relax(V_m, g_ex * mean_ex + dg_ex * rise_ex, g_in * mean_in + dg_in * rise_in, *membrane)


kernel = define_kernel("lif_cond_alpha_step", "event_ops.neurons", "neuron", "synapse", "elementwise")
