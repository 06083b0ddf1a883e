"""Rates, regularity and weights of a run; needs NumPy only, so that Brian2's environment can use it."""

import numpy as np

from event_ops_harness.networks.balanced.analysis import interval_cv, mean_rate
from event_ops_harness.networks.inhibitory_stdp.model import InhibitoryStdpParameters

QUANTILES = (0.25, 0.5, 0.75, 0.9)  # of weights


def statistics(
    times: np.ndarray,
    ids: np.ndarray,
    weights: np.ndarray,
    model: InhibitoryStdpParameters,
    neurons: int,
    *,
    seconds: tuple[float, float],
) -> dict[str, float]:
    """Return the rates in Hz and the mean CV of intervals of the spikes between two times, and of weights.

    times: (spikes,), in steps. ids: (spikes,), who fired. weights: onto excitatory neurons, in nS: their mean
    and quantiles.
    """
    excitatory = model.excitatory_count(neurons)
    begin, end = map(model.steps, seconds)
    counted = (times >= begin) & (times < end)
    times, ids = times[counted], ids[counted]
    of_ex = ids < excitatory
    length = seconds[1] - seconds[0]
    return {
        "rate_ex": mean_rate(int(of_ex.sum()), excitatory, length),
        "rate_in": mean_rate(int((~of_ex).sum()), neurons - excitatory, length),
        "cv": interval_cv(times[of_ex], ids[of_ex]),
        "w_mean": float(weights.mean(dtype=np.float64)),
        **{f"w_{q:.0%}": float(np.quantile(weights, q)) for q in QUANTILES},
    }
