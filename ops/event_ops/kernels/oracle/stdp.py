"""Pair-based STDP, weight by weight."""

import numpy as np

from event_ops.kernels.oracle import csr_entries, wide


def _changed(w, entries, spikes, trace, rate, w_min, w_max):
    """The weights after changes at the places of `entries`: (neuron that spiked, its partner, place)."""
    y, x = wide(w).copy(), wide(trace)
    rate, w_min, w_max = (np.broadcast_to(wide(each), y.shape) for each in (rate, w_min, w_max))
    for spiking, other, k in entries:
        if spikes[spiking]:
            change = rate[k] * float(spikes[spiking]) * x[other]
            y[k] = min(max(y[k] + change, w_min[k]), w_max[k])
    return y


def stdp_on_pre(w, indices, indptr, spikes_pre, x_post, *, shape, A_minus, w_min, w_max):
    return _changed(w, csr_entries(indices, indptr, shape), spikes_pre, x_post, -wide(A_minus), w_min, w_max)


def stdp_on_post(w, rows, indptr, permutation, spikes_post, x_pre, *, shape, A_plus, w_min, w_max):
    by_column = csr_entries(rows, indptr, shape[::-1])
    entries = [(j, i, int(permutation[p])) for j, i, p in by_column if 0 <= int(permutation[p]) < len(w)]
    return _changed(w, entries, spikes_post, x_pre, A_plus, w_min, w_max)
