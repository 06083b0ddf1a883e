import math

from event_ops.kernels.oracle.lif import each_neuron, fire


def _neuron(V, held, g_ex, g_in, tau_ex, tau_in, E_L, g_L, C_m, E_ex, E_in, I_e, V_th, V_reset, t_ref, dt):
    mean_ex = g_ex * tau_ex * (1 - math.exp(-dt / tau_ex)) / dt
    mean_in = g_in * tau_in * (1 - math.exp(-dt / tau_in)) / dt
    g = g_L + mean_ex + mean_in
    V_inf = (g_L * E_L + mean_ex * E_ex + mean_in * E_in + I_e) / g
    V, held, spike = fire(V, held, V_inf + (V - V_inf) * math.exp(-dt * g / C_m), V_th, V_reset, t_ref, dt)
    return V, held, g_ex * math.exp(-dt / tau_ex), g_in * math.exp(-dt / tau_in), spike


def lif_cond_exp_step(
    V_m, refractory, g_ex, g_in, *, tau_syn_ex, tau_syn_in, E_L, g_L, C_m, E_ex, E_in, V_th, V_reset, t_ref,
    dt, I_e=0, surrogate=None
):  # fmt: skip
    parameters = tau_syn_ex, tau_syn_in, E_L, g_L, C_m, E_ex, E_in, I_e, V_th, V_reset, t_ref, dt
    return each_neuron(_neuron, (V_m, refractory, g_ex, g_in), parameters, surrogate)
