import numpy as np

from event_ops.kernels.oracle import csr_entries, weights_of, wide


def expsyn_step(g, data, indices, indptr, spikes, *, shape, tau, dt):
    weights, arrivals = weights_of(data, indices), np.zeros(shape[1])
    for i, j, k in csr_entries(indices, indptr, shape):
        if spikes[i]:
            arrivals[j] += weights[k] * float(spikes[i])
    return wide(g) * np.exp(-dt / wide(tau)) + arrivals.reshape(np.shape(g))
