"""Say how much samples of times differ, how much of that may be noise, and how time grows with size."""

import functools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

_EXACT: Final = 900  # pairs of times up to which arrangements are counted


@dataclass(frozen=True)
class Change:
    """Hold the ratio of medians, after / before, and its interval by noise, from `low` to `high`."""

    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Say which way the change goes beyond noise, or "same"."""
        if self.low > 1:
            return "slower"
        return "faster" if self.high < 1 else "same"


def change_of(before: Sequence[float], after: Sequence[float], alpha: float) -> Change:
    """Return the change, with the interval that misses the true ratio with probability `alpha` at most.

    Its ends are the k-th smallest and the k-th largest ratio of a time after to one before: it is that of the
    Mann-Whitney test, and assumes no distribution. Where even k = 1 misses more often than `alpha`, it stays
    at k = 1: then a change is one that separates the samples completely.

    Source: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 2014, section 4.3.
    """
    ratios = sorted(b / a for a in before for b in after)
    k = _order(len(before), len(after), alpha)
    ratio = statistics.median(after) / statistics.median(before)
    # The ratio of medians is none of these ratios, and may lie outside where times are few.
    return Change(ratio, min(ratio, ratios[k - 1]), max(ratio, ratios[-k]))


def _order(m: int, n: int, alpha: float) -> int:
    """Return the largest k with P(U < k) <= alpha / 2 where nothing has changed; at least 1."""
    if m * n > _EXACT:  # U is then as good as normal
        spread = math.sqrt(m * n * (m + n + 1) / 12)
        return max(1, int(m * n / 2 + statistics.NormalDist().inv_cdf(alpha / 2) * spread))
    arrangements, below, k = math.comb(m + n, m), 0, 0
    while (below := below + _count(m, n, k)) / arrangements <= alpha / 2:
        k += 1
    return max(k, 1)


@functools.cache
def _count(m: int, n: int, u: int) -> int:
    """Count the arrangements of m and n times in which exactly u pairs are out of order."""
    if u < 0:
        return 0
    if m == 0 or n == 0:
        return int(u == 0)
    # The largest time is one of the m, and then above all n others, or it is one of the n.
    return _count(m - 1, n, u - n) + _count(m, n - 1, u)


FEWEST: Final = 3  # two points show no error


def exponent(seconds: Mapping[int, float]) -> dict[str, float]:
    """Fit seconds = factor * size ** exponent, by least squares in logarithms.

    Args:
        seconds: size -> time.

    Returns:
        the `exponent`, and as `error` its standard error; nothing where there are fewer than three sizes.
    """
    if len(seconds) < FEWEST:
        return {}
    # Not by scipy.stats: every run of pytest loads the plugin of the benchmarks, and it takes half a second.
    fit: Any = np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1, cov=True)
    (slope, _), covariance = fit
    return {"exponent": float(slope), "error": float(covariance[0, 0] ** 0.5)}


def upper_half(seconds: Mapping[int, float]) -> dict[int, float]:
    """Return the times of the upper half of the sizes: at least three of them."""
    # At small sizes a call costs more than its work, which would bend the line.
    return dict(sorted(seconds.items())[-max(FEWEST, (len(seconds) + 1) // 2) :])
