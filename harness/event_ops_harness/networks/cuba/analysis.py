"""Rates and interval statistics from spikes; needs NumPy only, so that rivals can use it too."""

import numpy as np


def mean_rate(spikes: int, neurons: int, seconds: float) -> float:
    """Spikes per neuron and second, in Hz."""
    return spikes / (neurons * seconds)


def interval_cv(times: np.ndarray, ids: np.ndarray, min_intervals: int = 5) -> float:
    """CV = std / mean of the inter-spike intervals, averaged over neurons.

    times: (spikes,), any unit. ids: (spikes,), who fired. Neurons with fewer than `min_intervals`
    intervals are left out; NaN when none remains. 0 is a clock, 1 a Poisson process.
    """
    order = np.lexsort((times, ids))
    times, ids = times[order].astype(np.float64), ids[order]
    same = np.diff(ids) == 0
    intervals, owners = np.diff(times)[same], ids[1:][same]
    if not owners.size:
        return float("nan")
    counts = np.bincount(owners)
    enough = np.flatnonzero(counts >= max(1, min_intervals))
    if not enough.size:
        return float("nan")
    mean = np.bincount(owners, intervals)[enough] / counts[enough]
    mean_square = np.bincount(owners, intervals**2)[enough] / counts[enough]
    variance = np.maximum(mean_square - mean**2, 0.0)
    return float(np.mean(np.sqrt(variance) / mean))


def binned_rate(num_spikes: np.ndarray, steps_per_bin: int, neurons: int, dt: float) -> np.ndarray:
    """Population rate in Hz per bin, from spikes per step; an incomplete last bin is left out. dt in ms."""
    whole = num_spikes[: num_spikes.size // steps_per_bin * steps_per_bin]
    per_bin = whole.reshape(-1, steps_per_bin).sum(axis=1)
    return per_bin / (neurons * steps_per_bin * dt * 1e-3)
