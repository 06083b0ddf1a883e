"""When a neuron spikes between two events: the definition, in pure JAX.

Maxima of the level on the way are looked for where it rises and falls again, by halves, and else where the
cubic has one that has the levels and slopes of both ends: the level falls, rises and falls, or rises, falls
and rises. It differs from the cubic in fourth order of the time between the events. Where the level and both
tangents stay below 0, so does the cubic, and no maximum is looked for.
"""

from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp

from event_ops.eventprop.models.functions import Functions
from event_ops.eventprop.reference import bisected

TURNS: Final = 100  # of a search, more than halvings of a double need
LOOKS: Final = 8  # at maxima of cubics


def first_crossing(functions: Functions, x: Any, parameters: Any, length: Any) -> Any:
    """Return when each neuron passes its threshold within `length`, or inf."""

    def rise(h: Any) -> Any:
        return tuple(functions.rise.of_each(*x, *parameters, h)[-2:])

    def look(turn: Any, carry: Any) -> Any:
        low, at_low, high, at_high, end, goes = carry
        rises_and_falls = (at_low[1] > 0) & (at_high[1] < 0)
        share = _maximum_of_cubic(at_low, at_high, high - low)
        middle = low + jnp.where(rises_and_falls, 0.5, share) * (high - low)
        goes &= jnp.where(rises_and_falls, ~is_over, turn < LOOKS) & (low < middle) & (middle < high)
        at = rise(jnp.where(goes, middle, length))
        is_found = goes & (at[0] > 0)
        goes &= ~is_found
        up, down = goes & (at[1] > 0), goes & ~(at[1] > 0)
        low, at_low = (jax.tree.map(partial(jnp.where, up), x, y) for x, y in ((middle, low), (at, at_low)))
        high, at_high = (
            jax.tree.map(partial(jnp.where, down), x, y) for x, y in ((middle, high), (at, at_high))
        )
        return low, at_low, high, at_high, jnp.where(is_found, middle, end), goes

    nothing = jnp.zeros_like(length)
    at_begin, at_end = rise(nothing), rise(length)
    is_over, is_held = at_end[0] > 0, nothing
    may_cross = functions.reach.of_each(*x, *parameters, length, is_held)[-1] > 0
    begin = nothing, at_begin, length, at_end, length, may_cross
    end = jax.lax.fori_loop(0, TURNS, look, begin)[-2]
    crossed = rise(end)[0] > 0
    return jnp.where(crossed, bisected(lambda h: rise(h)[0], nothing, end), jnp.inf)


def _maximum_of_cubic(at_low: Any, at_high: Any, width: Any) -> Any:
    """Return where in (0, 1) the cubic with these levels and slopes at both ends has a maximum; else NaN."""
    (first, first_slope), (last, last_slope) = at_low, at_high
    first_slope, last_slope, rise = first_slope * width, last_slope * width, 3 * (last - first)
    square, cube = rise - 2 * first_slope - last_slope, 3 * (first_slope + last_slope) - 2 * rise
    root = jnp.sqrt(square * square - cube * first_slope)
    place = jnp.where(square > 0, (-square - root) / cube, first_slope / (root - square))
    return jnp.where((root > 0) & (place > 0) & (place < 1), place, jnp.nan)
