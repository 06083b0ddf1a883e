"""The operator `adex_step`: checks, and the step of one neuron, which kernels are compiled from."""

from __future__ import annotations

import functools
import math
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks.arrays import is_known
from event_ops.checks.keywords import known_flags, known_size
from event_ops.checks.neuron import per_neuron
from event_ops.codegen.operators import call_term, define_kernel
from event_ops.kernels.neurons import checked_state, membrane_variables, rate_of
from event_ops.kernels.reference.decay import decay_factor, is_constant
from event_ops.kernels.reference.spiking import Surrogate, crossings, is_held, raised, unless_held


def adex_step(
    V_m: ArrayLike,
    refractory: ArrayLike,
    g_ex: ArrayLike,
    g_in: ArrayLike,
    w: ArrayLike,
    *,
    tau_syn_ex: ArrayLike,
    tau_syn_in: ArrayLike,
    tau_w: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    E_L: ArrayLike,
    g_L: ArrayLike,
    C_m: ArrayLike,
    E_ex: ArrayLike,
    E_in: ArrayLike,
    Delta_T: ArrayLike,
    V_th: ArrayLike,
    V_peak: ArrayLike,
    V_reset: ArrayLike,
    t_ref: ArrayLike,
    dt: ArrayLike,
    I_e: ArrayLike = 0.0,
    substeps: int = 10,
    count: bool = False,
    surrogate: Surrogate | None = None,
    backend: str | None = None,
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]:
    """One step of `C_m * dV/dt = -g_L * (V - E_L) + g_L * Delta_T * exp((V - V_th) / Delta_T) - w + I`.

    I = I_e - g_ex * (V - E_ex) - g_in * (V - E_in), and tau_w * dw/dt = a * (V - E_L) - w. The conductances
    decay exactly, g = g * exp(-dt / tau_syn); V and w take as many steps of Heun's method as substeps says,
    of second order in dt / substeps. Their slopes are those at min(V, V_peak), so that they cannot overflow.
    Where V > V_peak after a substep there is a spike, V = V_reset and w = w + b. If t_ref > dt / 2, V is then
    held for the rest of the step and for t_ref / dt more steps, rounded, else it goes on. While V is held, w
    and the conductances go on. What arrives in the step is added to g_ex and g_in afterwards.

    A spike is seen at the end of its substep: the next one is late by half a substep on average. If t_ref <=
    dt / 2, a step may have several spikes: a flag says that there is one, count=True how many there are.

    Differentiable in the float arguments; V_m and refractory have no derivative through resets (they are
    detached). Spikes have none either, unless there is a surrogate: then they are floats, whose derivative is
    surrogate(V - V_peak) * d(V - V_peak), with the highest V of all substeps, before resets. Through the
    spike that adds b, w has b times this derivative, as if it came at the end of the step.

    Args:
        V_m: any shape, membrane potential in mV; float32 or float64.
        refractory: shape of V_m, remaining refractory time in ms, 0 where there is none; dtype of V_m.
        g_ex: shape of V_m, excitatory conductance in nS, >= 0; dtype of V_m.
        g_in: shape of V_m, inhibitory conductance in nS, >= 0 (its weights, too); dtype of V_m.
        w: shape of V_m, adaptation current in pA; dtype of V_m.
        tau_syn_ex: time constant of g_ex in ms, > 0; this and all to I_e: a number, 0-d, or shape of V_m.
        tau_syn_in: time constant of g_in in ms, > 0.
        tau_w: time constant of the adaptation in ms, > 0.
        a: adaptation below the threshold in nS.
        b: what a spike adds to w, in pA.
        E_L: reversal potential of the leak in mV.
        g_L: conductance of the leak in nS, > 0.
        C_m: membrane capacitance in pF, > 0.
        E_ex: excitatory reversal potential in mV.
        E_in: inhibitory reversal potential in mV.
        Delta_T: slope factor of the upstroke in mV, > 0.
        V_th: potential where the upstroke begins in mV.
        V_peak: peak of a spike, at which V_m is reset, in mV.
        V_reset: potential after a spike in mV.
        t_ref: refractory time in ms, >= 0.
        dt: time step in ms, > 0.
        I_e: current from outside in pA, constant over the step.
        substeps: steps of Heun's method in a step, >= 1, static.
        count: static; whether spikes are counted, up to one in each substep, and not flags.
        surrogate: pseudo-derivative of the spike, from `event_ops.surrogate`, static; None: bool spikes.
        backend: run on this one or not at all; default: choose.

    Returns:
        V_m, refractory, g_ex, g_in, w: shape and dtype of V_m.
        spikes: shape of V_m; bool, or with a surrogate 0 and 1 in the dtype of V_m, or int32 if counted.

    Raises:
        TypeError: a dtype that is not taken, or that differs between the states; a surrogate that is not a
            function, or one of spikes that are counted; substeps that are no integer.
        ValueError: a shape that does not fit, substeps < 1, or, where their values are known when traced,
            tau_syn_ex, tau_syn_in, tau_w, g_L, C_m, Delta_T, dt <= 0, t_ref < 0, or V_peak so far above V_th
            that the current of the upstroke would overflow.

    Source: Brette and Gerstner (2005), J. Neurophysiol. 94, 3637-3642. NEST's ``aeif_cond_exp`` is this
        neuron with steps that adapt to a tolerance, from 0.01 ms on: it sees spikes, bounds V, resets and
        holds as it is done here, so that the first spike agrees to the step, and later ones drift apart by
        what is said above, with 10 substeps of 0.01 ms by some steps in a second; it spikes where
        V >= V_peak, and knows Delta_T = 0, which is `lif_cond_exp_step` here.
    """
    substeps, counts = known_size("substeps", substeps, least=1), known_flags(count=count)
    if count and surrogate is not None:
        raise TypeError(
            f"count=True with surrogate={surrogate!r}; expected one of them: a surrogate is the derivative "
            "of a flag, and a count has none"
        )
    positive = {
        "tau_syn_ex": tau_syn_ex, "tau_syn_in": tau_syn_in, "tau_w": tau_w,
        "g_L": g_L, "C_m": C_m, "Delta_T": Delta_T, "dt": dt,
    }  # fmt: skip
    named_states = {"V_m": V_m, "refractory": refractory, "g_ex": g_ex, "g_in": g_in, "w": w}
    states = checked_state(named_states, positive=positive, t_ref=t_ref, surrogate=surrogate)
    _check_upstroke(V_peak, V_th, Delta_T, states[0].dtype)
    variables = membrane_variables(
        states[0], g_L=g_L, E_L=E_L, I_e=I_e, C_m=C_m, dt=dt, substeps=substeps, tau_w=tau_w, a=a, b=b,
        E_ex=E_ex, E_in=E_in, Delta_T=Delta_T, V_th=V_th, V_peak=V_peak, V_reset=V_reset, t_ref=t_ref,
    )  # fmt: skip
    variables["E_L"] = per_neuron("E_L", E_L, states[0])
    variables["rate_w"] = rate_of(variables["dt"], variables.pop("tau_w"), substeps)
    part = (np.asarray(dt, float) if is_constant(dt) else variables["dt"]) / substeps
    for name, tau in (("ex", tau_syn_ex), ("in", tau_syn_in)):
        decay = decay_factor(tau, part, states[0].dtype)
        variables[f"decay_{name}"] = per_neuron(f"tau_syn_{name} or dt", decay, states[0])
    spikes = np.dtype(np.int32) if count else np.dtype(bool) if surrogate is None else states[0].dtype
    options: dict[str, Any] = {"substeps": substeps, **counts, "surrogate": surrogate}
    after: Any = call_term(kernel, of_neuron, states, variables, more=(spikes,), backend=backend, **options)
    return after


def of_neuron(
    V_m: jax.Array,
    refractory: jax.Array,
    g_ex: jax.Array,
    g_in: jax.Array,
    w: jax.Array,
    *,
    substeps: int,
    count: bool,
    surrogate: Surrogate | None,
    **variables: jax.Array,
) -> tuple[jax.Array, ...]:
    """Integrate in substeps, unless held; at each, reset and hold a neuron that has passed V_peak."""
    V_peak, t_ref, dt = (variables[name] for name in ("V_peak", "t_ref", "dt"))
    idle, is_holding = is_held(refractory, dt), is_held(t_ref, dt)

    def has_fired(tally: jax.Array) -> jax.Array:
        return tally if tally.dtype == bool else V_peak < tally if surrogate else tally > 0

    def substep(state: Any, _: None) -> tuple[Any, None]:
        v, ex, into, w, tally = state
        held = idle | (has_fired(tally) & is_holding)
        later = ex * variables["decay_ex"], into * variables["decay_in"]
        change = functools.partial(_changes, held, variables)
        dV, dw = change(v, w, ex, into)
        dV = jnp.where(held, 0, dV)
        dV_end, dw_end = change(v + dV, w + dw, *later)
        v, w = jnp.where(held, v, v + (dV + dV_end) / 2), w + (dw + dw_end) / 2
        fired = (V_peak < v) & ~held
        if surrogate:
            tally = jnp.where(held | ~(tally < v), tally, v)
        else:
            tally = tally + fired.astype(tally.dtype) if count else tally | fired
        v, w = jnp.where(fired, variables["V_reset"], v), jnp.where(fired, w + variables["b"], w)
        return (v, *later, w, tally), None

    highest = jnp.full_like(V_m, -jnp.inf)  # V of all substeps, whose surrogate is the derivative
    none = highest if surrogate else jnp.zeros((), jnp.int32 if count else bool)
    (v, ex, into, w, tally), _ = jax.lax.scan(substep, (V_m, g_ex, g_in, w, none), length=substeps)
    spikes = crossings(tally, V_peak, surrogate) if surrogate else tally
    w = raised(w, jnp.where(idle, 0, variables["b"]), spikes) if surrogate else w
    left = jnp.where(idle, jnp.maximum(refractory - dt, 0), 0)
    return v, jnp.where(has_fired(tally), t_ref, left), ex, into, w, spikes


def _changes(
    held: jax.Array,
    membrane: dict[str, jax.Array],
    v: jax.Array,
    w: jax.Array,
    g_ex: jax.Array,
    g_in: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """Return the changes of V, unless it is held, and of w in a substep."""
    p = SimpleNamespace(**membrane)
    v = jnp.where(p.V_peak < v, p.V_peak, v)
    inputs = v, w, g_ex, g_in, p.rate, p.g_L, p.leak, p.E_ex, p.E_in, p.Delta_T, p.V_th
    return unless_held(held, _rise, *inputs), p.rate_w * (p.a * (v - p.E_L) - w)


def _rise(
    v: Any, w: Any, g_ex: Any, g_in: Any, rate: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any, Delta_T: Any,
    V_th: Any,
) -> jax.Array:  # fmt: skip
    """Return the change of V at these slopes."""
    upstroke = g_L * Delta_T * jnp.exp((v - V_th) / Delta_T)
    return rate * (leak - g_L * v + upstroke - w + g_ex * (E_ex - v) + g_in * (E_in - v))


def _check_upstroke(V_peak: Any, V_th: Any, Delta_T: Any, dtype: Any) -> None:
    """Raise ValueError unless the exponential at V_peak leaves a factor of 1e20 below the largest number."""
    if not is_known(V_peak, V_th, Delta_T):
        return
    highest = (np.asarray(V_peak, float) - np.asarray(V_th, float)) / np.asarray(Delta_T, float)
    limit = math.log(float(np.finfo(dtype).max)) - 20 * math.log(10)
    if highest.size and highest.max() >= limit:
        raise ValueError(
            f"(V_peak - V_th) / Delta_T is or contains {highest.max():g}; expected less than {limit:.4g}, or "
            f"its exponential overflows in {np.dtype(dtype)}; lower V_peak"
        )


kernel = define_kernel("adex_step", "event_ops.neurons", "neuron", "synapse", "elementwise")
