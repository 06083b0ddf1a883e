"""Statistics of spike trains; needs NumPy only, so that other simulators' environments can use it."""

import numpy as np


def interval_cvs(times: np.ndarray, ids: np.ndarray, neurons: int, min_intervals: int) -> np.ndarray:
    """CV = std / mean of the intervals between the spikes of each neuron.

    times: (spikes,), any unit. ids: (spikes,), who fired. Returns (neurons,); NaN for neurons with fewer than
    `min_intervals` intervals. A clock has 0, a Poisson process 1.
    """
    order = np.lexsort((times, ids))
    times, ids = times[order].astype(np.float64), ids[order]
    same = np.diff(ids) == 0
    intervals, owners = np.diff(times)[same], ids[1:][same]
    counts = np.bincount(owners, minlength=neurons)
    enough = counts >= max(1, min_intervals)
    counts = np.maximum(counts, 1)
    mean = np.bincount(owners, intervals, minlength=neurons) / counts
    variance = np.bincount(owners, (intervals - mean[owners]) ** 2, minlength=neurons) / counts
    return np.where(enough, np.sqrt(variance) / np.where(enough, mean, 1), np.nan)
