import math

import numpy as np

from event_ops.kernels.oracle.lif import each_neuron


def _slopes(V, w, g_ex, g_in, a, E_L, g_L, C_m, E_ex, E_in, Delta_T, V_th, V_peak, tau_w, I_e):
    V = V_peak if V_peak < V else V
    current = I_e - w - g_L * (V - E_L) - g_ex * (V - E_ex) - g_in * (V - E_in)
    upstroke = g_L * Delta_T * math.exp((V - V_th) / Delta_T)
    return (current + upstroke) / C_m, (a * (V - E_L) - w) / tau_w


def _neuron(
    V, left, g_ex, g_in, w, tau_ex, tau_in, b, V_reset, t_ref, dt, *membrane, V_peak, substeps, count
):
    h, held, spikes = dt / substeps, left > dt / 2, 0
    left = max(left - dt, 0.0) if held else 0.0
    for _ in range(substeps):
        V_1, w_1 = _slopes(V, w, g_ex, g_in, *membrane)
        g_ex, g_in = g_ex * math.exp(-h / tau_ex), g_in * math.exp(-h / tau_in)
        V_2, w_2 = _slopes(V if held else V + h * V_1, w + h * w_1, g_ex, g_in, *membrane)
        w += h / 2 * (w_1 + w_2)
        if held:
            continue
        V += h / 2 * (V_1 + V_2)
        if V_peak < V:
            V, w, spikes, left, held = V_reset, w + b, spikes + 1, t_ref, t_ref > dt / 2
    return V, left, g_ex, g_in, w, spikes if count else spikes > 0


def adex_step(
    V_m, refractory, g_ex, g_in, w, *, tau_syn_ex, tau_syn_in, tau_w, a, b, E_L, g_L, C_m, E_ex, E_in,
    Delta_T, V_th, V_peak, V_reset, t_ref, dt, I_e=0, substeps=10, count=False, surrogate=None
):  # fmt: skip
    membrane = a, E_L, g_L, C_m, E_ex, E_in, Delta_T, V_th, V_peak, tau_w, I_e
    parameters = tau_syn_ex, tau_syn_in, b, V_reset, t_ref, dt, *membrane

    def neuron(*values):
        return _neuron(*values, V_peak=values[-3], substeps=substeps, count=count)

    return each_neuron(
        neuron, (V_m, refractory, g_ex, g_in, w), parameters, surrogate, spike=np.int32 if count else bool
    )
