"""The change of a weight within its bounds."""

from typing import Any

import warp as wp


@wp.func
def bounded_weight(value: Any, low: Any, high: Any) -> Any:
    """The nearest value in [low, high]; NaN stays NaN."""
    above = value
    if above < low:
        above = low
    if above > high:
        above = high
    return above
