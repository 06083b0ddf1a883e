"""Are runs of ours and of NEST further apart than runs of one simulator are? A permutation test.

If both simulate one model, who simulated which run does not matter: every way to call half of the runs ours
is as likely as the true one. With D[i, j] the distance between runs i and j,

    excess = mean of D over pairs of one of ours and one of NEST's
             - (mean of D over pairs of ours + mean of D over pairs of NEST's) / 2,

and the p-value is the part of all labellings whose excess is at least as large. It is at least twice the
reciprocal of their number, since to exchange the names changes nothing.

Of many such questions asked of the same runs some have small p-values by chance: the adjusted p-value is the
part of all labellings in which any of them has one as small (Westfall and Young 1993, "Resampling-based
multiple testing", single-step minP). Rates of populations that drive each other are not independent, and need
not be.
"""

import itertools
from typing import Any

import numpy as np
import scipy.stats

MAX_RUNS = 10  # of each: 184,756 labellings
_ROUNDING = 1e-12


def ks_distance(a: np.ndarray, b: np.ndarray) -> float:
    """max |F_a - F_b| of two empirical distributions (Kolmogorov-Smirnov); NaN if a sample is empty."""
    if not a.size or not b.size:
        return float("nan")
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
    smallest = np.sort(of_ways.min(axis=0))
    adjusted = np.searchsorted(smallest, of_ways[:, 0] + _ROUNDING) / smallest.size
    return of_ways[:, 0], adjusted


def _parts_as_large(values: np.ndarray) -> np.ndarray:
    """Return for each value the part of all values that is at least as large."""
    below = np.searchsorted(np.sort(values), values - _ROUNDING)
    return 1 - below / values.size
