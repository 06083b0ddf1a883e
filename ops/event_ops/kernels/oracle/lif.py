"""Neurons one by one, in Python's numbers: their loop, the spike and the reset, and how membranes move."""

import math

import numpy as np

from event_ops.kernels.oracle import wide


def each_neuron(neuron, states, parameters, surrogate, *, spike=bool):
    """The states and the spikes, of the type `spike`, that `neuron` returns for the values of each neuron."""
    values = [np.broadcast_to(wide(x), np.shape(states[0])) for x in (*states, *parameters)]
    after = [np.empty(values[0].shape) for _ in states]
    spikes = np.empty(values[0].shape, spike)
    for i in np.ndindex(spikes.shape):
        *moved, spikes[i] = neuron(*(float(x[i]) for x in values))
        for state, value in zip(after, moved, strict=True):
            state[i] = value
    return *after, spikes if surrogate is None else wide(1.0 * spikes)


def fire(V, held, free, V_th, V_reset, t_ref, dt):
    """V, held and the spike of a neuron that moves to `free` unless it is held."""
    if held > dt / 2:
        return V, max(held - dt, 0.0), False
    return (V_reset, t_ref, True) if V_th < free else (free, 0.0, False)


def conducted(V, mean_ex, mean_in, E_L, g_L, C_m, E_ex, E_in, I_e, dt):
    """Return the potential after a step, to which the mean conductances of the step have moved it."""
    g = g_L + mean_ex + mean_in
    V_inf = (g_L * E_L + mean_ex * E_ex + mean_in * E_in + I_e) / g
    return V_inf + (V - V_inf) * math.exp(-dt * g / C_m)


def _lif_neuron(V, held, current, tau_m, E_L, V_th, V_reset, t_ref, dt, jump, method):
    if method == "euler":
        free = V + dt * (E_L + current - V) / tau_m + jump
    else:
        free = E_L + current + (V - E_L - current) * math.exp(-dt / tau_m) + jump
    return fire(V, held, free, V_th, V_reset, t_ref, dt)


def lif_step(
    V_m, refractory, I_syn, *, tau_m, E_L, V_th, V_reset, t_ref, dt, jump=0, method="exact", surrogate=None
):
    parameters = (I_syn, tau_m, E_L, V_th, V_reset, t_ref, dt, jump)
    return each_neuron(lambda *x: _lif_neuron(*x, method), (V_m, refractory), parameters, surrogate)
