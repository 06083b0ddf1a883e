"""Compute rates, regularity and weights from spike trains."""

import numpy as np


def interval_cvs(times: np.ndarray, ids: np.ndarray, neurons: int, min_intervals: int) -> np.ndarray:
    """CV = std / mean of the intervals between the spikes of each neuron.

    times: (spikes,), any unit. ids: (spikes,), who fired. Returns (neurons,); NaN for neurons with fewer than
    `min_intervals` intervals. A clock has 0, a Poisson process 1.
    """
    # By neuron, and of each neuron by time: neighbours then are intervals.
    order = np.lexsort((times, ids))
    times, ids = times[order].astype(np.float64), ids[order]
    same = np.diff(ids) == 0
    intervals, owners = np.diff(times)[same], ids[1:][same]
    counts = np.bincount(owners, minlength=neurons)
    enough = counts >= max(1, min_intervals)
    # Neurons without intervals get NaN below; here they are not divided by 0.
    counts = np.maximum(counts, 1)
    mean = np.bincount(owners, intervals, minlength=neurons) / counts
    variance = np.bincount(owners, (intervals - mean[owners]) ** 2, minlength=neurons) / counts
    return np.where(enough, np.sqrt(variance) / np.where(enough, mean, 1), np.nan)


QUANTILES = (0.25, 0.5, 0.75, 0.9)  # of weights


def mean_rate(spikes: int, neurons: int, seconds: float) -> float:
    """Return the spikes per neuron and second, in Hz."""
    return spikes / (neurons * seconds)


def interval_cv(times: np.ndarray, ids: np.ndarray, min_intervals: int = 5) -> float:
    """CV = std / mean of the inter-spike intervals, averaged over neurons.

    times: (spikes,), any unit. ids: (spikes,), who fired. Neurons with fewer than `min_intervals`
    intervals are left out; NaN when none remains. 0 is a clock, 1 a Poisson process.
    """
    cvs = interval_cvs(times, ids, int(ids.max(initial=-1)) + 1, min_intervals)
    defined = cvs[~np.isnan(cvs)]
    return float(defined.mean()) if defined.size else float("nan")


def learning_statistics(
    times: np.ndarray,
    ids: np.ndarray,
    weights: np.ndarray,
    *,
    populations: tuple[int, int],
    between: tuple[float, float],
    dt: float,
) -> dict[str, float]:
    """Return rates in Hz, the mean CV of intervals of excitatory neurons, and mean and quantiles of weights.

    times: (spikes,), in steps. ids: (spikes,), who fired. weights: of the synapses that learn. populations:
    how many neurons are excitatory, the first ones, and inhibitory. between: the seconds whose spikes count.
    dt: of a step, in ms.
    """
    begin, end = (round(1e3 * at / dt) for at in between)
    counted = (times >= begin) & (times < end)
    times, ids = times[counted], ids[counted]
    excitatory, length = ids < populations[0], between[1] - between[0]
    counts = int(excitatory.sum()), int((~excitatory).sum())
    rates = [mean_rate(spikes, neurons, length) for spikes, neurons in zip(counts, populations, strict=True)]
    return {
        "rate_ex": rates[0],
        "rate_in": rates[1],
        "cv": interval_cv(times[excitatory], ids[excitatory]),
        "w_mean": float(weights.mean(dtype=np.float64)),
        **{f"w_{q:.0%}": float(np.quantile(weights, q)) for q in QUANTILES},
    }


def binned_rate(num_spikes: np.ndarray, steps_per_bin: int, neurons: int, dt: float) -> np.ndarray:
    """Return the population rate of each whole bin in Hz, from spikes per step; dt in ms."""
    whole = num_spikes[: num_spikes.size // steps_per_bin * steps_per_bin]
    per_bin = whole.reshape(-1, steps_per_bin).sum(axis=1)
    return per_bin / (neurons * steps_per_bin * dt * 1e-3)
