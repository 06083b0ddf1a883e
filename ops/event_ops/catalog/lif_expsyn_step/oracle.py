import math

from event_ops.kernels.oracle.lif import each_neuron, fire


def _neuron(V, held, current, tau_m, tau_syn, E_L, R_m, I_e, jump, V_th, V_reset, t_ref, dt):
    rest, fading = E_L + R_m * I_e, math.exp(-dt / tau_m)
    if tau_m == tau_syn:
        pushed = dt / tau_m * fading
    else:
        pushed = tau_syn / (tau_syn - tau_m) * (math.exp(-dt / tau_syn) - fading)
    free = rest + (V - rest) * fading + R_m * current * pushed + jump
    V, held, spike = fire(V, held, free, V_th, V_reset, t_ref, dt)
    return V, held, current * math.exp(-dt / tau_syn), spike


def lif_expsyn_step(
    V_m, refractory, I_syn, *, tau_m, tau_syn, E_L, V_th, V_reset, t_ref, dt, R_m, I_e, jump=0, surrogate=None
):
    parameters = tau_m, tau_syn, E_L, R_m, I_e, jump, V_th, V_reset, t_ref, dt
    return each_neuron(_neuron, (V_m, refractory, I_syn), parameters, surrogate)
