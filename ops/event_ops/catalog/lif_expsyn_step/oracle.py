import math

import numpy as np

from event_ops.kernels.oracle import wide


def _moved(V, current, tau_m, tau_syn, E_L, dt, R_m, I_e):
    rest, fading = E_L + R_m * I_e, math.exp(-dt / tau_m)
    if tau_m == tau_syn:
        pushed = dt / tau_m * fading
    else:
        pushed = tau_syn / (tau_syn - tau_m) * (math.exp(-dt / tau_syn) - fading)
    return rest + (V - rest) * fading + R_m * current * pushed


def lif_expsyn_step(
    V_m, refractory, I_syn, *, tau_m, tau_syn, E_L, V_th, V_reset, t_ref, dt, R_m, I_e, jump=0, surrogate=None
):
    values = (V_m, refractory, I_syn, tau_m, tau_syn, E_L, V_th, V_reset, t_ref, dt, R_m, I_e, jump)
    values = [np.broadcast_to(wide(x), np.shape(V_m)) for x in values]
    V, held, current = (np.array(x) for x in values[:3])
    spikes = np.zeros(V.shape, bool)
    for i in np.ndindex(V.shape):
        old, left, I, tau, tau_I, E, theta, reset, t, h, R, I_0, push = (float(x[i]) for x in values)
        if left > h / 2:
            held[i] = max(left - h, 0.0)
        else:
            V[i], held[i] = _moved(old, I, tau, tau_I, E, h, R, I_0) + push, 0.0
            if theta < V[i]:
                V[i], held[i], spikes[i] = reset, t, True
        current[i] = I * math.exp(-h / tau_I)
    return V, held, current, spikes if surrogate is None else wide(1.0 * spikes)
