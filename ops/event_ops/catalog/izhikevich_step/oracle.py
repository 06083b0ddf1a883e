from event_ops.kernels.oracle.lif import each_neuron


def _slope(V, U, I_syn):
    return 0.04 * V * V + 5 * V + 140 - U + I_syn


def _neuron(V, U, I_syn, a, b, c, d, dt, V_th, jump, method):
    old = V
    if method == "published":
        V += dt / 2 * _slope(V, U, I_syn)
        old = V = V + dt / 2 * _slope(V, U, I_syn)
    else:
        V += dt * _slope(V, U, I_syn)
    U += dt * a * (b * old - U)
    return (c, U + d, True) if V_th < V + jump else (V + jump, U, False)


def izhikevich_step(
    V_m, U_m, I_syn, *, a, b, c, d, dt, V_th=30.0, jump=0.0, method="euler", surrogate=None
):  # fmt: skip
    parameters = I_syn, a, b, c, d, dt, V_th, jump
    return each_neuron(lambda *x: _neuron(*x, method), (V_m, U_m), parameters, surrogate)
