"""When a neuron spikes between two events, natively: by the search of `crossings`, and by Newton's method."""

from typing import Any

import numpy as np

from event_ops.eventprop.models.crossings import LOOKS, TURNS
from event_ops.eventprop.models.emitted import Emitted
from event_ops.kernels.numba_cpu.jit import njit


@njit(_nrt=False, error_model="numpy")
def maximum_of_cubic(first: float, first_slope: float, last: float, last_slope: float) -> float:
    """Return where in (0, 1) the cubic with these values and slopes at 0 and 1 has a maximum; else NaN."""
    # The slope at u is first_slope + 2 * square * u + cube * u**2; of its roots this one has a maximum.
    rise = 3 * (last - first)
    square, cube = rise - 2 * first_slope - last_slope, 3 * (first_slope + last_slope) - 2 * rise
    under = square * square - cube * first_slope
    if not under > 0:
        return np.nan
    place = (-square - np.sqrt(under)) / cube if square > 0 else first_slope / (np.sqrt(under) - square)
    return place if 0 < place < 1 else np.nan


def make_crossing(functions: Emitted, states: int) -> Any:
    """Return the function that finds when a neuron spikes.

    `crossing(x, p, j, length, out)` returns the first root of the level within a length, or -1; out begins
    with the states there, or at the end.
    """
    rise, reach = functions.rise, functions.reach

    @njit(_nrt=False, error_model="numpy")
    def search(x: Any, p: Any, j: Any, length: float, out: Any) -> float:
        """Return the root within a length behind which the level is above 0: Newton's method in a bracket."""
        low, high, h, close = 0.0, length, length, 4 * np.finfo(out.dtype).eps
        for _ in range(TURNS):
            over, slope = out[states], out[states + 1]
            if over > 0:
                high = h
            else:
                low = h
            to = h - over / slope
            if over == 0 or abs(to - h) <= close * length or high - low <= close * length:
                break
            h = to if low < to < high else low + 0.5 * (high - low)
            rise(x, p, j, h, out)
        return h

    @njit(_nrt=False, error_model="numpy")
    def crossing(x: Any, p: Any, j: Any, length: float, out: Any) -> float:
        reach(x, p, j, length, 0.0, out)
        if not out[states] > 0:
            return -1.0
        rise(x, p, j, 0.0, out)
        over_low, slope_low = float(out[states]), float(out[states + 1])
        rise(x, p, j, length, out)
        over_high, slope_high = float(out[states]), float(out[states + 1])
        low, high, is_over = 0.0, length, over_high > 0
        for turn in range(TURNS):
            width, share = high - low, 0.5
            if slope_low > 0 > slope_high:
                if is_over:
                    break  # one maximum, behind the root
            elif turn < LOOKS:
                share = maximum_of_cubic(over_low, slope_low * width, over_high, slope_high * width)
            else:
                break
            middle = low + share * width
            if not low < middle < high:
                break
            rise(x, p, j, middle, out)
            if out[states] > 0:
                return search(x, p, j, middle, out)
            if out[states + 1] > 0:
                low, over_low, slope_low = middle, float(out[states]), float(out[states + 1])
            else:
                high, over_high, slope_high = middle, float(out[states]), float(out[states + 1])
        if low > 0 or high < length:
            rise(x, p, j, length, out)
        return search(x, p, j, length, out) if is_over else -1.0

    return crossing
