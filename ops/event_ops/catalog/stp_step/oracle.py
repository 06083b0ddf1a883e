"""`stp_step` as a loop over synapses."""

import math

import numpy as np

from event_ops.kernels.oracle import wide


def _synapse(x, u, spike, U, tau_rec, tau_fac, dt):
    x = 1 - (1 - x) * math.exp(-dt / tau_rec)
    u = u * math.exp(-dt / tau_fac) if tau_fac else 0.0
    u += spike * U * (1 - u)
    released = spike * u * x
    return x - released, u, released


def stp_step(x, u, spikes, *, U, tau_rec, tau_fac, dt):
    values = [np.broadcast_to(wide(v), np.shape(x)) for v in (x, u, spikes, U, tau_rec, tau_fac, dt)]
    after = [np.empty(np.shape(x)) for _ in range(3)]
    for i in np.ndindex(np.shape(x)):
        for result, value in zip(after, _synapse(*(float(v[i]) for v in values)), strict=True):
            result[i] = value
    return tuple(after)
