import numpy as np

from event_ops.kernels.oracle import wide


def stdp_on_post(w, rows, indptr, permutation, spikes_post, x_pre, *, shape, A_plus, w_min, w_max):
    y, x = wide(w).copy(), wide(x_pre)
    A_plus, w_min, w_max = (np.broadcast_to(wide(each), y.shape) for each in (A_plus, w_min, w_max))
    for j in np.flatnonzero(spikes_post):
        spike = float(spikes_post[j])
        for p in range(indptr[j], indptr[j + 1]):
            i, k = int(rows[p]), int(permutation[p])
            if 0 <= i < shape[0] and 0 <= k < len(y):
                y[k] = min(max(y[k] + A_plus[k] * spike * x[i], w_min[k]), w_max[k])
    return y
