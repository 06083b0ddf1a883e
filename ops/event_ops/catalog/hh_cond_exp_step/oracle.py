import math

from event_ops.kernels.oracle.lif import each_neuron


def _linoid(x):
    return x / math.expm1(x) if x else 1.0


def _gates(v, m, h, n, time):
    rates = (
        (m, 0.32 * 4 * _linoid((13 - v) / 4), 0.28 * 5 * _linoid((v - 40) / 5)),
        (h, 0.128 * math.exp((17 - v) / 18), 4 / (1 + math.exp((40 - v) / 5))),
        (n, 0.032 * 5 * _linoid((15 - v) / 5), 0.5 * math.exp((10 - v) / 40)),
    )
    ends = [(x, alpha / (alpha + beta), alpha + beta) for x, alpha, beta in rates]
    return [end + (x - end) * math.exp(-rate * time) for x, end, rate in ends]


def _neuron(
    V, left, g_ex, g_in, m, h, n, tau_ex, tau_in, E_L, g_L, C_m, E_Na, g_Na, E_K, g_K, E_ex, E_in, V_T, I_e,
    t_ref, dt, substeps
):  # fmt: skip
    old, part = V, dt / substeps
    for _ in range(substeps):
        m, h, n = _gates(V - V_T, m, h, n, part / 2)
        mean_ex = g_ex * tau_ex * (1 - math.exp(-part / tau_ex)) / part
        mean_in = g_in * tau_in * (1 - math.exp(-part / tau_in)) / part
        sodium, potassium = g_Na * m**3 * h, g_K * n**4
        g = g_L + mean_ex + mean_in + sodium + potassium
        driven = g_L * E_L + mean_ex * E_ex + mean_in * E_in + sodium * E_Na + potassium * E_K + I_e
        V = driven / g + (V - driven / g) * math.exp(-part * g / C_m)
        g_ex, g_in = g_ex * math.exp(-part / tau_ex), g_in * math.exp(-part / tau_in)
        m, h, n = _gates(V - V_T, m, h, n, part / 2)
    held = left > dt / 2
    spike = not held and V_T + 30 < V < old
    left = t_ref if spike else max(left - dt, 0.0) if held else 0.0
    return V, left, g_ex, g_in, m, h, n, spike


def hh_cond_exp_step(
    V_m, refractory, g_ex, g_in, Act_m, Inact_h, Act_n, *, tau_syn_ex, tau_syn_in, E_L, g_L, C_m, E_Na, g_Na,
    E_K, g_K, E_ex, E_in, V_T, t_ref, dt, I_e=0, substeps=4, surrogate=None
):  # fmt: skip
    membrane = E_L, g_L, C_m, E_Na, g_Na, E_K, g_K, E_ex, E_in, V_T, I_e
    states, parameters = (V_m, refractory, g_ex, g_in, Act_m, Inact_h, Act_n), (tau_syn_ex, tau_syn_in)
    parameters = *parameters, *membrane, t_ref, dt
    return each_neuron(lambda *x: _neuron(*x, substeps), states, parameters, surrogate)
