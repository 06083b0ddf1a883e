"""Rates, regularity and correlations of single neurons, and how far two samples of them are apart."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from event_ops_harness.networks.microcircuit.model import POPULATIONS, Microcircuit

MIN_INTERVALS = 2
BIN_MS = 2.0
CORRELATED_NEURONS = 200  # of each population: all pairs of them
QUANTITIES = ("rate", "cv", "correlation")


@dataclass(frozen=True)
class Spikes:
    """Who fired when, in steps; from `first` up to `end`."""

    times: np.ndarray
    ids: np.ndarray
    first: int
    end: int

    def after(self, first: int) -> "Spikes":
        """Without those before step `first`."""
        kept = self.times >= first
        return Spikes(self.times[kept], self.ids[kept], first, self.end)


def neuron_rates(spikes: Spikes, model: Microcircuit) -> np.ndarray:
    """(neurons,), Hz."""
    seconds = (spikes.end - spikes.first) * model.dt * 1e-3
    return np.bincount(spikes.ids, minlength=model.neurons) / seconds


def interval_cvs(spikes: Spikes, neurons: int) -> np.ndarray:
    """(neurons,), std / mean of a neuron's intervals; NaN for those with fewer than MIN_INTERVALS."""
    order = np.lexsort((spikes.times, spikes.ids))
    times, ids = spikes.times[order].astype(np.float64), spikes.ids[order]
    same = np.diff(ids) == 0
    intervals, owners = np.diff(times)[same], ids[1:][same]
    counts = np.bincount(owners, minlength=neurons)
    enough = counts >= MIN_INTERVALS
    counts = np.maximum(counts, 1)
    mean = np.bincount(owners, intervals, minlength=neurons) / counts
    variance = np.bincount(owners, (intervals - mean[owners]) ** 2, minlength=neurons) / counts
    return np.where(enough, np.sqrt(variance) / np.where(enough, mean, 1), np.nan)


def count_correlations(spikes: Spikes, first: int, end: int, dt: float) -> np.ndarray:
    """Correlation coefficients of spike counts in bins, for all pairs of up to CORRELATED_NEURONS neurons.

    Of the neurons from `first` up to `end` the first ones that spike at all.
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
    """By population and quantity, one value per neuron, or per pair of them."""
    rates, cvs = neuron_rates(spikes, model), interval_cvs(spikes, model.neurons)
    found = {}
    for name, (first, end) in zip(POPULATIONS, pairwise(model.first), strict=True):
        own = cvs[first:end]
        correlations = count_correlations(spikes, first, end, model.dt)
        values = (rates[first:end], own[~np.isnan(own)], correlations)
        found[name] = dict(zip(QUANTITIES, values, strict=True))
    return found


def ks_distance(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference between two empirical distribution functions; NaN if a sample is empty."""
    if not a.size or not b.size:
        return float("nan")
    at = np.concatenate([a, b])
    below = [np.searchsorted(np.sort(x), at, side="right") / x.size for x in (a, b)]
    return float(np.abs(below[0] - below[1]).max())
