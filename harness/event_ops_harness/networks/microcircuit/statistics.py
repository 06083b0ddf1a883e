"""Rates, regularity and correlations of single neurons."""

import itertools
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.stats

from event_ops_harness.networks.microcircuit.model import POPULATIONS, Microcircuit
from event_ops_harness.networks.shared.simulation import Recording
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

    @classmethod
    def of(cls, recording: Recording) -> "Spikes":
        """Return the spikes of a recording."""
        first = recording.first_step
        return cls(recording.times, recording.ids, first, first + recording.steps)

    def after(self, first: int) -> "Spikes":
        """Return the spikes from step `first` on."""
        later = self.times >= first
        return Spikes(self.times[later], self.ids[later], first, self.end)


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
    of_population = (spikes.ids >= first) & (spikes.ids < end) & (bins < whole)
    chosen, ids = np.unique(spikes.ids[of_population], return_inverse=True)
    counted = ids < CORRELATED_NEURONS
    counts = np.zeros((min(chosen.size, CORRELATED_NEURONS), whole))
    np.add.at(counts, (ids[counted], bins[of_population][counted]), 1)
    if len(counts) < 2:
        return np.zeros(0)
    matrix = np.asarray(np.corrcoef(counts))
    rows, columns = np.triu_indices(len(counts), 1)
    return matrix[rows, columns]


def distributions(spikes: Spikes, model: Microcircuit) -> dict[str, dict[str, np.ndarray]]:
    """Return one value per neuron, or per pair of them, by population and quantity."""
    rates, cvs = neuron_rates(spikes, model), neuron_cvs(spikes, model)
    by_population = {}
    for name, (first, end) in zip(POPULATIONS, pairwise(model.first), strict=True):
        cvs_of_members = cvs[first:end]
        correlations = count_correlations(spikes, first, end, model.dt)
        values = (rates[first:end], cvs_of_members[~np.isnan(cvs_of_members)], correlations)
        by_population[name] = dict(zip(QUANTITIES, values, strict=True))
    return by_population


MAX_RUNS = 10  # of each: 184,756 labellings
# Sums in another order differ by rounding, and equal excesses count as at least as large.
_ROUNDING = 1e-12


def ks_distance(a: np.ndarray, b: np.ndarray) -> float:
    """max |F_a - F_b| of two empirical distributions (Kolmogorov-Smirnov); NaN if a sample is empty."""
    if not a.size or not b.size:
        return float("nan")
    # Only the distance is read: an exact p-value would be computed for nothing.
    result: Any = scipy.stats.ks_2samp(a, b, method="asymp")
    return float(result.statistic)


def labellings(runs: int) -> np.ndarray:
    """Return (ways, 2 * runs), float: 1 for runs that are called ours, in the first way the first half."""
    chosen = np.array(list(itertools.combinations(range(2 * runs), runs)))
    ours = np.zeros((len(chosen), 2 * runs))
    np.put_along_axis(ours, chosen, 1.0, axis=1)
    return ours


def excesses(distances: np.ndarray, ours: np.ndarray) -> np.ndarray:
    """Return (ways,), the excess of each labelling; distances is symmetric with zeros on its diagonal."""
    runs, nests = ours.shape[1] // 2, 1 - ours
    across = ((ours @ distances) * nests).sum(axis=1) / runs**2
    # Each pair twice.
    within = sum(((some @ distances) * some).sum(axis=1) for some in (ours, nests)) / (runs * (runs - 1))
    return across - within / 2


def p_values(distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the p-values, (k,), and the adjusted p-values, (k,), of k questions.

    distances: (k, 2 * runs, 2 * runs), the first half of the runs ours, at least two of each. A question
    with a distance that is NaN has a p-value of 1.
    """
    ours = labellings(distances.shape[1] // 2)
    of_ways = np.array([_parts_as_large(excesses(matrix, ours)) for matrix in distances])
    # Westfall and Young (1993): each p-value beside the smallest one of all questions in every labelling.
    smallest = np.sort(of_ways.min(axis=0))
    adjusted = np.searchsorted(smallest, of_ways[:, 0] + _ROUNDING) / smallest.size
    return of_ways[:, 0], adjusted


def _parts_as_large(values: np.ndarray) -> np.ndarray:
    """Return for each value the part of all values that is at least as large."""
    below = np.searchsorted(np.sort(values), values - _ROUNDING)
    return 1 - below / values.size
