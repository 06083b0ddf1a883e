import numpy as np

from event_ops.kernels.oracle import wide
from event_ops.kernels.oracle.lif import lif_step


def alif_step(V_m, refractory, a, I_syn, *, tau_a, beta, V_th, dt, **rest):
    a, dt = wide(a), wide(dt)
    risen = wide(V_th) + wide(beta) * a
    V, held, spikes = lif_step(V_m, refractory, I_syn, V_th=risen, dt=dt, **rest)
    return V, held, a * np.exp(-dt / wide(tau_a)) + spikes, spikes
