"""Say how time grows with size, from medians that are collected while a benchmark runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from scipy.stats import linregress

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
    fit: Any = linregress(np.log(list(seconds)), np.log(list(seconds.values())))
    return {"exponent": float(fit.slope), "error": float(fit.stderr)}


def upper_half(seconds: Mapping[int, float]) -> dict[int, float]:
    """Return the times of the upper half of the sizes: at least three of them."""
    return dict(sorted(seconds.items())[-max(FEWEST, (len(seconds) + 1) // 2) :])
