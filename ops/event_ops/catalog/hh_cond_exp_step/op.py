"""The operator `hh_cond_exp_step`: checks, backends; its derivatives are those of the reference."""

from __future__ import annotations

import jax
import numpy as np
from jax.typing import ArrayLike

from event_ops.catalog import define_backends
from event_ops.checks.inputs import in_dtype
from event_ops.checks.neuron import check_count
from event_ops.kernels.neurons import call_step, checked_state, fading_of, leak_of, parameters_of, rate_of
from event_ops.kernels.reference.decay import is_constant
from event_ops.kernels.reference.spiking import Surrogate
from ffi_bridge import XLACustomKernel


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
    count = check_count("substeps", substeps)
    positive = {"tau_syn_ex": tau_syn_ex, "tau_syn_in": tau_syn_in, "g_L": g_L, "C_m": C_m, "dt": dt}
    given = {"V_m": V_m, "refractory": refractory, "g_ex": g_ex, "g_in": g_in}
    given |= {"Act_m": Act_m, "Inact_h": Inact_h, "Act_n": Act_n}
    states = checked_state(given, positive=positive, t_ref=t_ref, surrogate=surrogate)
    p = parameters_of(
        states[0], E_L=E_L, g_L=g_L, C_m=C_m, E_Na=E_Na, g_Na=g_Na, E_K=E_K, g_K=g_K, E_ex=E_ex, E_in=E_in,
        I_e=I_e, V_T=V_T, t_ref=t_ref, dt=dt,
    )  # fmt: skip
    part = (np.asarray(dt, float) if is_constant(dt) else p.dt) / count
    decay_ex, mean_ex, _ = fading_of("tau_syn_ex", tau_syn_ex, part, states[0])
    decay_in, mean_in, _ = fading_of("tau_syn_in", tau_syn_in, part, states[0])
    inputs = [
        *(decay_ex, decay_in, mean_ex, mean_in),
        *(p.g_L, leak_of(p), p.E_ex, p.E_in, rate_of(p, p.C_m, count)),
        *(p.g_Na, p.E_Na, p.g_K, p.E_K, p.V_T, rate_of(p, in_dtype(2, p.dt.dtype), count), p.t_ref, p.dt),
    ]
    return call_step(kernel, states, inputs, substeps=count, surrogate=surrogate, backend=backend)


kernel = XLACustomKernel("hh_cond_exp_step")
kernel.def_tags("neuron", "synapse", "elementwise")
define_backends(kernel, "reference", "numba_cpu", "numba_cuda", "warp")
