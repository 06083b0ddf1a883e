"""LIF neurons simulated from event to event, without a grid of steps, as an oracle of `eventprop`."""

import heapq

import numpy as np
from scipy.optimize import brentq

LOOKS = 400  # between two arrivals, for a crossing of the threshold


def spikes(times, ids, weights, delays, between, *, tau_m, tau_syn, V_th, V_reset, E_L, end):
    """Return (time, neuron) of all spikes before `end`; weights and delays are dense, rows inputs first.

    `between`: how many rows are those of inputs.
    """
    neurons, rate = weights.shape[1], 1 / tau_m - 1 / tau_syn
    V, I, now, found, queue = np.full(neurons, E_L), np.zeros(neurons), np.zeros(neurons), [], []

    def moved(V, I, x):
        gain = np.exp(-x / tau_m) / tau_m * (np.expm1(rate * x) / rate if rate else x)
        return E_L + (V - E_L) * np.exp(-x / tau_m) + gain * I, I * np.exp(-x / tau_syn)

    def send(time, row):
        for j in range(neurons):
            if 0 <= time + delays[row, j] < end:
                heapq.heappush(queue, (time + delays[row, j], j, weights[row, j]))

    def crossing(j, until):
        def above(x):
            return moved(V[j], I[j], x)[0] - V_th

        grid = np.linspace(0, until - now[j], LOOKS)
        over = np.flatnonzero(above(grid) > 0)
        return now[j] + brentq(above, grid[over[0] - 1], grid[over[0]], xtol=1e-14) if over.size else np.inf

    for time, i in zip(times, ids, strict=True):
        send(time, i)
    while True:
        until = queue[0][0] if queue else end
        candidates = [crossing(j, until) for j in range(neurons)]
        j = int(np.argmin(candidates))
        if candidates[j] < np.inf:
            _, I[j] = moved(V[j], I[j], candidates[j] - now[j])
            V[j], now[j] = V_reset, candidates[j]
            found.append((candidates[j], j))
            if between < weights.shape[0]:
                send(candidates[j], between + j)
        elif queue:
            arrival, j, weight = heapq.heappop(queue)
            V[j], I[j] = moved(V[j], I[j], arrival - now[j])
            I[j], now[j] = I[j] + weight, arrival
        else:
            return found
