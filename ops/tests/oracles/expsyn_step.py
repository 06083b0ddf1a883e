import numpy as np

from oracles.csr_event_matvec import csr_event_matvec
from oracles.widen import wide


def expsyn_step(g, data, indices, indptr, spikes, *, shape, tau, dt):
    arrivals = csr_event_matvec(data, indices, indptr, spikes, shape=shape, transpose=True)
    return wide(g) * np.exp(-dt / wide(tau)) + arrivals.reshape(np.shape(g))
