"""What each operator must give, in plain NumPy and as slow and plain as can be: loops, wide types, no JAX."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def _wide(x: Any) -> np.ndarray:
    x = np.asarray(x)
    return x.astype({"f": "float64", "c": "complex128"}.get(x.dtype.kind, x.dtype))


def csr_matvec(data, indices, indptr, v, *, shape, transpose=False):
    data, v = _wide(data), _wide(v)
    y = np.zeros(shape[1] if transpose else shape[0], data.dtype)
    for i in range(shape[0]):
        for k in range(int(indptr[i]), int(indptr[i + 1])):
            j = int(indices[k])
            if 0 <= j < shape[1]:
                target, source = (j, i) if transpose else (i, j)
                y[target] += data[k] * v[source]
    return y


def csr_event_matvec(data, indices, indptr, events, *, shape, transpose=False):
    weights = np.broadcast_to(_wide(data), np.shape(indices))
    y = np.zeros(shape[1] if transpose else shape[0], weights.dtype)
    for i in range(shape[0]):
        for k in range(int(indptr[i]), int(indptr[i + 1])):
            j = int(indices[k])
            if 0 <= j < shape[1]:
                target, source = (j, i) if transpose else (i, j)
                if events[source]:
                    y[target] += weights[k] * float(events[source])
    return y


def expsyn_step(g, data, indices, indptr, spikes, *, shape, tau, dt):
    arrivals = csr_event_matvec(data, indices, indptr, spikes, shape=shape, transpose=True)
    return _wide(g) * np.exp(-dt / _wide(tau)) + arrivals.reshape(np.shape(g))


def scatter_add(target, indices, updates):
    y = _wide(target).copy()
    indices = np.asarray(indices)
    updates = np.broadcast_to(_wide(updates), indices.shape + y.shape[1:])
    for place in np.ndindex(indices.shape):
        j = int(indices[place])
        j += len(y) if j < 0 else 0
        if 0 <= j < len(y):
            y[j] += updates[place]
    return y


def trace_decay(x, spikes, *, tau, dt):
    return _wide(x) * np.exp(-dt / _wide(tau)) + np.asarray(spikes).astype(float)


def _lif_neuron(V, held, current, tau_m, E_L, V_th, V_reset, t_ref, dt, method):
    if held > dt / 2:
        return V, max(held - dt, 0.0), False
    if method == "euler":
        V = V + dt * (E_L + current - V) / tau_m
    else:
        V = E_L + current + (V - E_L - current) * math.exp(-dt / tau_m)
    return (V_reset, t_ref, True) if V_th < V else (V, 0.0, False)


def lif_step(V_m, refractory, I_syn, *, tau_m, E_L, V_th, V_reset, t_ref, dt, method="exact"):
    values = (V_m, refractory, I_syn, tau_m, E_L, V_th, V_reset, t_ref, dt)
    wide = [np.broadcast_to(_wide(x), np.shape(V_m)) for x in values]
    V, held, spikes = np.empty(wide[0].shape), np.empty(wide[0].shape), np.empty(wide[0].shape, bool)
    for i in np.ndindex(V.shape):
        V[i], held[i], spikes[i] = _lif_neuron(*(float(x[i]) for x in wide), method)
    return V, held, spikes


def spike_compact(spikes, *, capacity=None):
    found = [i for i, spike in enumerate(spikes) if spike]
    capacity = len(spikes) if capacity is None else capacity
    padding = [len(spikes)] * capacity
    return np.array((found + padding)[:capacity], np.int32), np.int32(len(found))
