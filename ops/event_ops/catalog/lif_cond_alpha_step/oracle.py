import math

from event_ops.kernels.oracle.lif import conducted, each_neuron, fire


def _mean(g, dg, tau, dt):
    """The integral of (g + t * dg) * exp(-t / tau) over a step, by dt."""
    fading = math.exp(-dt / tau)
    return (g * tau * (1 - fading) + dg * tau * (tau - (tau + dt) * fading)) / dt


def _neuron(V, held, g_ex, g_in, dg_ex, dg_in, tau_ex, tau_in, V_th, V_reset, t_ref, dt, *membrane):
    means = _mean(g_ex, dg_ex, tau_ex, dt), _mean(g_in, dg_in, tau_in, dt)
    V, held, spike = fire(V, held, conducted(V, *means, *membrane, dt), V_th, V_reset, t_ref, dt)
    fading_ex, fading_in = math.exp(-dt / tau_ex), math.exp(-dt / tau_in)
    later = (g_ex + dt * dg_ex) * fading_ex, (g_in + dt * dg_in) * fading_in
    return V, held, *later, dg_ex * fading_ex, dg_in * fading_in, spike


def lif_cond_alpha_step(
    V_m, refractory, g_ex, g_in, dg_ex, dg_in, *, tau_syn_ex, tau_syn_in, E_L, g_L, C_m, E_ex, E_in, V_th,
    V_reset, t_ref, dt, I_e=0, surrogate=None
):  # fmt: skip
    membrane = E_L, g_L, C_m, E_ex, E_in, I_e
    parameters = tau_syn_ex, tau_syn_in, V_th, V_reset, t_ref, dt, *membrane
    return each_neuron(_neuron, (V_m, refractory, g_ex, g_in, dg_ex, dg_in), parameters, surrogate)
