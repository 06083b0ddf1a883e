"""Least squares: a straight line, and a power law as one in logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Line:
    """y = intercept + slope * x, and the slope's standard error."""

    slope: float
    intercept: float
    error: float


def line(x: Sequence[float], y: Sequence[float]) -> Line:
    """The line with the least squares of y. Raises ValueError: fewer than three points show no error."""
    if len(x) < 3:
        raise ValueError(f"got {len(x)} points; expected at least 3")
    across, up = np.asarray(x, float), np.asarray(y, float)
    offset = across - across.mean()
    squares = float(offset @ offset)
    if squares == 0:
        raise ValueError(f"all {len(x)} points have x = {x[0]:g}; expected different ones")
    slope = float(offset @ up) / squares
    intercept = float(up.mean() - slope * across.mean())
    residuals = up - intercept - slope * across
    error = math.sqrt(float(residuals @ residuals) / (len(x) - 2) / squares)
    return Line(slope, intercept, error)


def power_law(x: Sequence[float], y: Sequence[float]) -> Line:
    """y = exp(intercept) * x ** slope, fitted in logarithms: every point counts by its relative error."""
    return line(np.log(x).tolist(), np.log(y).tolist())
