import numpy as np

from event_ops.catalog.csr_event_matvec.oracle import csr_event_matvec
from event_ops.parts.oracle import wide


def expsyn_step(g, data, indices, indptr, spikes, *, shape, tau, dt):
    arrivals = csr_event_matvec(data, indices, indptr, spikes, shape=shape, transpose=True)
    return wide(g) * np.exp(-dt / wide(tau)) + arrivals.reshape(np.shape(g))
