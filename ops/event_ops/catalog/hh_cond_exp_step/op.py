"""The operator `hh_cond_exp_step`: checks, and the step of one neuron, which kernels are compiled from."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks.inputs import in_dtype
from event_ops.checks.keywords import known_size
from event_ops.codegen.operators import call_step, define_kernel
from event_ops.kernels.neurons import checked_state, fading_of, membrane_variables, rate_of
from event_ops.kernels.reference.decay import is_constant
from event_ops.kernels.reference.membrane import relax
from event_ops.kernels.reference.spiking import Surrogate, crossings, is_held, unless_held


def hh_cond_exp_step(
    V_m: ArrayLike,
    refractory: ArrayLike,
    g_ex: ArrayLike,
    g_in: ArrayLike,
    Act_m: ArrayLike,
    Inact_h: ArrayLike,
    Act_n: ArrayLike,
    *,
    tau_syn_ex: ArrayLike,
    tau_syn_in: ArrayLike,
    E_L: ArrayLike,
    g_L: ArrayLike,
    C_m: ArrayLike,
    E_Na: ArrayLike,
    g_Na: ArrayLike,
    E_K: ArrayLike,
    g_K: ArrayLike,
    E_ex: ArrayLike,
    E_in: ArrayLike,
    V_T: ArrayLike,
    t_ref: ArrayLike,
    dt: ArrayLike,
    I_e: ArrayLike = 0.0,
    substeps: int = 4,
    surrogate: Surrogate | None = None,
    backend: str | None = None,
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]:
    """One step of `C_m * dV/dt = -g_Na * m**3 * h * (V - E_Na) - g_K * n**4 * (V - E_K) + I`.

    I = I_e - g_L * (V - E_L) - g_ex * (V - E_ex) - g_in * (V - E_in). m, h and n are Act_m, Inact_h and
    Act_n; each has dx/dt = alpha * (1 - x) - beta * x, with rates in 1/ms, where v = V - V_T in mV:

    - m: alpha = 0.32 * (13 - v) / (exp((13 - v) / 4) - 1), beta = 0.28 * (v - 40) / (exp((v - 40) / 5) - 1)
    - h: alpha = 0.128 * exp((17 - v) / 18), beta = 4 / (1 + exp((40 - v) / 5))
    - n: alpha = 0.032 * (15 - v) / (exp((15 - v) / 5) - 1), beta = 0.5 * exp((10 - v) / 40)

    Each substep is symmetric: half a step of m, h and n, exact for the rates at this V, a step of V as in
    `lif_cond_exp_step`, with the conductances of the channels and the means of g_ex and g_in, and half a step
    of m, h and n at the new V. It is of second order in dt / substeps, and stable. A spike is a maximum of V:
    V > V_T + 30 at the end of a step, and lower than at its beginning. There is no reset; for t_ref / dt
    steps, rounded, no other spike is seen. What arrives in the step is added to g_ex and g_in afterwards.

    Differentiable in the float arguments. Spikes have no derivative, unless there is a surrogate: then they
    are floats, whose derivative is surrogate(x) * dx with x = V - V_T - 30, and 0 where V rises or no spike
    is seen.

    Args:
        V_m: any shape, membrane potential in mV; float32 or float64.
        refractory: shape of V_m, time in ms in which no spike is seen; dtype of V_m.
        g_ex: shape of V_m, excitatory conductance in nS, >= 0; dtype of V_m.
        g_in: shape of V_m, inhibitory conductance in nS, >= 0 (its weights, too); dtype of V_m.
        Act_m: shape of V_m, activation of sodium, in [0, 1]; dtype of V_m.
        Inact_h: shape of V_m, inactivation of sodium, in [0, 1]; dtype of V_m.
        Act_n: shape of V_m, activation of potassium, in [0, 1]; dtype of V_m.
        tau_syn_ex: time constant of g_ex in ms, > 0; this and all to I_e: a number, 0-d, or shape of V_m.
        tau_syn_in: time constant of g_in in ms, > 0.
        E_L: reversal potential of the leak in mV.
        g_L: conductance of the leak in nS, > 0.
        C_m: membrane capacitance in pF, > 0.
        E_Na: reversal potential of sodium in mV.
        g_Na: largest conductance of sodium in nS.
        E_K: reversal potential of potassium in mV.
        g_K: largest conductance of potassium in nS.
        E_ex: excitatory reversal potential in mV.
        E_in: inhibitory reversal potential in mV.
        V_T: where the rates have their origin, in mV; it moves the threshold.
        t_ref: time in ms, >= 0, in which no other spike is seen.
        dt: time step in ms, > 0.
        I_e: current from outside in pA, constant over the step.
        substeps: steps of integration in a step, >= 1, static.
        surrogate: pseudo-derivative of the spike, from `event_ops.surrogate`, static; None: bool spikes.
        backend: run on this one or not at all; default: choose.

    Returns:
        V_m, refractory, g_ex, g_in, Act_m, Inact_h, Act_n: shape and dtype of V_m.
        spikes: shape of V_m; bool, or with a surrogate 0 and 1 in the dtype of V_m.

    Raises:
        TypeError: a dtype that is not taken, or that differs between the states; a surrogate that is not a
            function; substeps that are no integer.
        ValueError: a shape that does not fit, substeps < 1, or, where their values are known when traced,
            tau_syn_ex, tau_syn_in, g_L, C_m, dt <= 0 or t_ref < 0.

    Source: Traub and Miles (1991), Neuronal Networks of the Hippocampus, Cambridge University Press, in the
        form of Brette et al. (2007), J. Comput. Neurosci. 23, 349-398, benchmark 3. NEST's
        ``hh_cond_exp_traub`` is this neuron with steps that adapt to a tolerance of 0.001: it sees spikes as
        it is done here, where V >= V_T + 30; spikes agree within some steps in some hundred milliseconds.
    """
    count = known_size("substeps", substeps, least=1)
    positive = {"tau_syn_ex": tau_syn_ex, "tau_syn_in": tau_syn_in, "g_L": g_L, "C_m": C_m, "dt": dt}
    named_states = {"V_m": V_m, "refractory": refractory, "g_ex": g_ex, "g_in": g_in}
    named_states |= {"Act_m": Act_m, "Inact_h": Inact_h, "Act_n": Act_n}
    states = checked_state(named_states, positive=positive, t_ref=t_ref, surrogate=surrogate)
    variables = membrane_variables(
        states[0], g_L=g_L, E_L=E_L, I_e=I_e, C_m=C_m, dt=dt, substeps=count, E_Na=E_Na, g_Na=g_Na, E_K=E_K,
        g_K=g_K, E_ex=E_ex, E_in=E_in, V_T=V_T, t_ref=t_ref,
    )  # fmt: skip
    variables["half"] = rate_of(variables["dt"], in_dtype(2, states[0].dtype), count)
    part = (np.asarray(dt, float) if is_constant(dt) else variables["dt"]) / count
    for name, tau in (("ex", tau_syn_ex), ("in", tau_syn_in)):
        fading = fading_of(f"tau_syn_{name}", tau, part, states[0])
        variables[f"decay_{name}"], variables[f"mean_{name}"], _ = fading
    options: dict[str, Any] = {"substeps": count, "surrogate": surrogate, "backend": backend}
    return call_step(kernel, of_neuron, states, variables, **options)


def of_neuron(
    V_m: jax.Array,
    refractory: jax.Array,
    g_ex: jax.Array,
    g_in: jax.Array,
    Act_m: jax.Array,
    Inact_h: jax.Array,
    Act_n: jax.Array,
    *,
    substeps: int,
    surrogate: Surrogate | None,
    **variables: jax.Array,
) -> tuple[jax.Array, ...]:
    """Integrate in substeps; spike at a maximum, unless one was seen within the refractory time."""
    p = SimpleNamespace(**variables)

    def substep(state: Any, _: None) -> tuple[Any, None]:
        v, ex, into, *gates = state
        m, h, n = _gates(v - p.V_T, gates[0], gates[1], gates[2], p.half)
        sodium, potassium = p.g_Na * m * m * m * h, p.g_K * n * n * n * n
        g, driven = p.g_L + sodium + potassium, p.leak + sodium * p.E_Na + potassium * p.E_K
        v = relax(v, ex * p.mean_ex, into * p.mean_in, g, driven, p.E_ex, p.E_in, p.rate)
        return (v, ex * p.decay_ex, into * p.decay_in, *_gates(v - p.V_T, m, h, n, p.half)), None

    start = V_m, g_ex, g_in, Act_m, Inact_h, Act_n
    (v, ex, into, *gates), _ = jax.lax.scan(substep, start, length=substeps)
    held = is_held(refractory, p.dt)
    spikes = crossings(v, p.V_T + 30, surrogate)
    spikes = jnp.where(held | ~(V_m > v), jnp.zeros((), spikes.dtype), spikes)
    left = jnp.where(held, jnp.maximum(refractory - p.dt, 0), 0)
    return v, jnp.where(spikes.astype(bool), p.t_ref, left), ex, into, *gates, spikes


def _linoid(x: jax.Array, power: jax.Array) -> jax.Array:
    """Return x / (power - 1), where power is exp(x); near 0 its series."""
    near, y = jnp.abs(x) < 0.3, x * x
    series = 1 / 30240 - y * (1 / 1209600 - y * (1 / 47900160))
    series = 1 - x * 0.5 + y * (1 / 12 - y * (1 / 720 - y * series))
    # Of the quotient, which is 0 / 0 at 0, no derivative passes.
    return jnp.where(near, series, unless_held(near, _quotient, x, power))


def _quotient(x: jax.Array, power: jax.Array) -> jax.Array:
    return x / (power - 1)


def _toward(x: jax.Array, alpha: jax.Array, beta: jax.Array, time: jax.Array) -> jax.Array:
    """Return a gate after so much time with constant rates."""
    end = alpha / (alpha + beta)
    return end + (x - end) * jnp.exp(-(alpha + beta) * time)


# Factors in place of divisors: LLVM makes products only of divisions by a power of 2.
def _gates(v: jax.Array, m: jax.Array, h: jax.Array, n: jax.Array, time: jax.Array) -> tuple[jax.Array, ...]:
    """Return m, h and n after so much time at one potential, from four exponentials for six rates."""
    x, z = (13 - v) * (1 / 4), (40 - v) * (1 / 5)
    power = jnp.exp(z)
    alpha_m, beta_m = 1.28 * _linoid(x, jnp.exp(x)), 1.4 * (z + _linoid(z, power))  # that is linoid of -z
    alpha_h, beta_h = 0.128 * jnp.exp((17 - v) * (1 / 18)), 4 / (1 + power)
    alpha_n, beta_n = 0.16 * _linoid(z - 5, power * math.exp(-5)), 0.5 * jnp.exp((10 - v) * (1 / 40))
    return (
        _toward(m, alpha_m, beta_m, time),
        _toward(h, alpha_h, beta_h, time),
        _toward(n, alpha_n, beta_n, time),
    )


kernel = define_kernel("hh_cond_exp_step", "event_ops.neurons", "neuron", "synapse", "elementwise")
