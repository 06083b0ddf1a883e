import math

import numpy as np

from event_ops.parts.oracle import wide


def _lif_neuron(V, held, current, tau_m, E_L, V_th, V_reset, t_ref, dt, jump, method):
    if held > dt / 2:
        return V, max(held - dt, 0.0), False
    if method == "euler":
        V = V + dt * (E_L + current - V) / tau_m + jump
    else:
        V = E_L + current + (V - E_L - current) * math.exp(-dt / tau_m) + jump
    return (V_reset, t_ref, True) if V_th < V else (V, 0.0, False)


def lif_step(
    V_m, refractory, I_syn, *, tau_m, E_L, V_th, V_reset, t_ref, dt, jump=0, method="exact", surrogate=None
):
    values = (V_m, refractory, I_syn, tau_m, E_L, V_th, V_reset, t_ref, dt, jump)
    values = [np.broadcast_to(wide(x), np.shape(V_m)) for x in values]
    V, held, spikes = np.empty(values[0].shape), np.empty(values[0].shape), np.empty(values[0].shape, bool)
    for i in np.ndindex(V.shape):
        V[i], held[i], spikes[i] = _lif_neuron(*(float(x[i]) for x in values), method)
    return V, held, spikes if surrogate is None else wide(1.0 * spikes)
