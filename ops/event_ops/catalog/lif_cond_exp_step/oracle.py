import math

from event_ops.kernels.oracle.lif import conducted, each_neuron, fire


def _neuron(V, held, g_ex, g_in, tau_ex, tau_in, V_th, V_reset, t_ref, dt, *membrane):
    fading_ex, fading_in = math.exp(-dt / tau_ex), math.exp(-dt / tau_in)
    means = g_ex * tau_ex * (1 - fading_ex) / dt, g_in * tau_in * (1 - fading_in) / dt
    V, held, spike = fire(V, held, conducted(V, *means, *membrane, dt), V_th, V_reset, t_ref, dt)
    return V, held, g_ex * fading_ex, g_in * fading_in, spike


def lif_cond_exp_step(
    V_m, refractory, g_ex, g_in, *, tau_syn_ex, tau_syn_in, E_L, g_L, C_m, E_ex, E_in, V_th, V_reset, t_ref,
    dt, I_e=0, surrogate=None
):  # fmt: skip
    membrane = E_L, g_L, C_m, E_ex, E_in, I_e
    parameters = tau_syn_ex, tau_syn_in, V_th, V_reset, t_ref, dt, *membrane
    return each_neuron(_neuron, (V_m, refractory, g_ex, g_in), parameters, surrogate)
