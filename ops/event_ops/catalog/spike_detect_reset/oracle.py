import numpy as np

from event_ops.kernels.oracle import wide


def spike_detect_reset(V_m, *, V_th, V_reset, surrogate=None):
    V, V_th, V_reset = (np.broadcast_to(wide(x), np.shape(V_m)) for x in (V_m, V_th, V_reset))
    after, spikes = np.empty(V.shape), np.empty(V.shape, bool if surrogate is None else float)
    for i in np.ndindex(V.shape):
        spikes[i] = V_th[i] < V[i]
        after[i] = V_reset[i] if spikes[i] else V[i]
    return after, spikes
