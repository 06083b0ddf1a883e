"""Rates, regularity and correlations of single neurons."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from event_ops_harness.networks.microcircuit.model import POPULATIONS, Microcircuit
from event_ops_harness.networks.shared.statistics import interval_cvs

MIN_INTERVALS = 2
BIN_MS = 2.0
CORRELATED_NEURONS = 200  # of each population: all pairs of them
QUANTITIES = ("rate", "cv", "correlation")


@dataclass(frozen=True)
class Spikes:
    """Hold who fired when, in steps, from `first` up to `end`."""

    times: np.ndarray
    ids: np.ndarray
    first: int
    end: int

    def after(self, first: int) -> "Spikes":
        """Return the spikes from step `first` on."""
        kept = self.times >= first
        return Spikes(self.times[kept], self.ids[kept], first, self.end)


def neuron_rates(spikes: Spikes, model: Microcircuit) -> np.ndarray:
    """Return (neurons,), in Hz."""
    seconds = (spikes.end - spikes.first) * model.dt * 1e-3
    return np.bincount(spikes.ids, minlength=model.neurons) / seconds


def neuron_cvs(spikes: Spikes, model: Microcircuit) -> np.ndarray:
    """Return (neurons,), std / mean of a neuron's intervals; NaN for fewer than MIN_INTERVALS."""
    return interval_cvs(spikes.times, spikes.ids, model.neurons, MIN_INTERVALS)


def count_correlations(spikes: Spikes, first: int, end: int, dt: float) -> np.ndarray:
    """Return the correlation coefficients of spike counts in bins, for all pairs of up to CORRELATED_NEURONS.

    The neurons are the first ones from `first` up to `end` that spike at all.
    """
    per_bin = max(1, round(BIN_MS / dt))
    whole = (spikes.end - spikes.first) // per_bin
    bins = (spikes.times - spikes.first) // per_bin
    mine = (spikes.ids >= first) & (spikes.ids < end) & (bins < whole)
    chosen, ids = np.unique(spikes.ids[mine], return_inverse=True)
    kept = ids < CORRELATED_NEURONS
    counts = np.zeros((min(chosen.size, CORRELATED_NEURONS), whole))
    np.add.at(counts, (ids[kept], bins[mine][kept]), 1)
    if len(counts) < 2:
        return np.zeros(0)
    matrix = np.asarray(np.corrcoef(counts))
    rows, columns = np.triu_indices(len(counts), 1)
    return matrix[rows, columns]


def distributions(spikes: Spikes, model: Microcircuit) -> dict[str, dict[str, np.ndarray]]:
    """Return one value per neuron, or per pair of them, by population and quantity."""
    rates, cvs = neuron_rates(spikes, model), neuron_cvs(spikes, model)
    found = {}
    for name, (first, end) in zip(POPULATIONS, pairwise(model.first), strict=True):
        own = cvs[first:end]
        correlations = count_correlations(spikes, first, end, model.dt)
        values = (rates[first:end], own[~np.isnan(own)], correlations)
        found[name] = dict(zip(QUANTITIES, values, strict=True))
    return found
