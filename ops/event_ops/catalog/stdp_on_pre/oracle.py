import numpy as np

from event_ops.kernels.oracle import wide


def stdp_on_pre(w, indices, indptr, spikes_pre, x_post, *, shape, A_minus, w_min, w_max):
    y, x = wide(w).copy(), wide(x_post)
    A_minus, w_min, w_max = (np.broadcast_to(wide(each), y.shape) for each in (A_minus, w_min, w_max))
    for i in np.flatnonzero(spikes_pre):
        spike = float(spikes_pre[i])
        for k in range(indptr[i], indptr[i + 1]):
            j = int(indices[k])
            if 0 <= j < shape[1]:
                y[k] = min(max(y[k] - A_minus[k] * spike * x[j], w_min[k]), w_max[k])
    return y
