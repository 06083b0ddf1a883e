"""LIF neurons simulated from event to event, without a grid of steps, as an oracle of `eventprop`."""

import heapq

import numpy as np
from scipy.optimize import brentq

LOOKS = 400  # between two arrivals, for a crossing of the threshold


def spikes(times, ids, weights, delays, between, *, tau_m, tau_syn, V_th, V_reset, E_L, t_ref, end):
    """Return (time, neuron) of all spikes before `end`; weights and delays are dense, rows inputs first.

    `between`: how many rows are those of inputs.
    """
    neurons, rate = weights.shape[1], 1 / tau_m - 1 / tau_syn
    V, I, now, found, queue = np.full(neurons, E_L), np.zeros(neurons), np.zeros(neurons), [], []
    held_until = np.zeros(neurons)

    def moved(V, I, x):
        gain = np.exp(-x / tau_m) / tau_m * (np.expm1(rate * x) / rate if rate else x)
        return E_L + (V - E_L) * np.exp(-x / tau_m) + gain * I, I * np.exp(-x / tau_syn)

    def send(time, row):
        for j in range(neurons):
            if 0 <= time + delays[row, j] < end:
                heapq.heappush(queue, (time + delays[row, j], j, weights[row, j]))

    def crossing(j, until):
        begin, current = released(j)
        if begin >= until:
            return np.inf

        def above(x):
            return moved(V[j], current, x)[0] - V_th

        grid = np.linspace(0, until - begin, LOOKS)
        over = np.flatnonzero(above(grid) > 0)
        return begin + brentq(above, grid[over[0] - 1], grid[over[0]], xtol=1e-14) if over.size else np.inf

    def released(j):
        """Return when V of neuron j moves next, and I then."""
        begin = max(now[j], held_until[j])
        return begin, moved(0, I[j], begin - now[j])[1]

    def go(j, time):
        begin, current = released(j)
        if begin < time:
            V[j], I[j] = moved(V[j], current, time - begin)
        else:
            I[j] = moved(0, I[j], time - now[j])[1]
        now[j] = time

    for time, i in zip(times, ids, strict=True):
        send(time, i)
    while True:
        until = queue[0][0] if queue else end
        candidates = [crossing(j, until) for j in range(neurons)]
        j = int(np.argmin(candidates))
        if candidates[j] < np.inf:
            go(j, candidates[j])
            V[j], held_until[j] = V_reset, candidates[j] + t_ref
            found.append((candidates[j], j))
            if between < weights.shape[0]:
                send(candidates[j], between + j)
        elif queue:
            arrival, j, weight = heapq.heappop(queue)
            go(j, arrival)
            I[j] += weight
        else:
            return found
