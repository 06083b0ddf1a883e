"""A search in SIMD for the times at which many neurons pass V_th, each once between two instants."""

# V and I are potential and current, and no constants:
# pyright: reportConstantRedefinition=false
from typing import Any, Final, NamedTuple

import numpy as np

from event_ops.eventprop.dynamics import TURNS, Neuron, factors_of, first_guess, next_place
from event_ops.kernels.numba_cpu.jit import CONTRACT, INLINED, njit

ROOM: Final = 64  # of a search
# Rows of one array, whose distances a compiler knows, so that it sees that they do not overlap.
_V, _I, _V_TH, _LOW, _HIGH, _X, _AT, _IS_OPEN = (np.uintp(k * ROOM) for k in range(8))


class Crossings(NamedTuple):
    """Hold intervals in which V passes V_th: the neuron's place in `Near`, and when in the step each begins.

    `values`: V and I then, V_th, the bracket of the search, its place, I there, and whether it goes on.
    """

    places: Any
    begins: Any
    values: Any
    factors: Any


@njit
def new_crossings() -> Crossings:
    """Return room for a search."""
    return Crossings(np.empty(ROOM, np.int32), np.empty(ROOM), np.empty(8 * ROOM), np.empty((3, ROOM)))


@njit(**INLINED)
def note(
    crossings: Crossings, count: int, place: int, begin: float, V: float, I: float, V_end: float,
    I_end: float, length: float, V_th: float, neuron: Neuron,
) -> None:  # fmt: skip
    """Put down an interval at place `count`."""
    x, c = crossings.values, np.uintp(count)
    crossings.places[count], crossings.begins[count] = place, begin
    x[_V + c], x[_I + c], x[_V_TH + c], x[_LOW + c], x[_HIGH + c] = V, I, V_th, 0.0, length
    x[_X + c], x[_IS_OPEN + c] = first_guess(V, I, V_end, I_end, length, V_th, neuron), 1.0


@njit(**INLINED, fastmath=CONTRACT, error_model="numpy")
def _turn(x: Any, count: Any, found: Any, neuron: Neuron) -> float:
    """Take a step of each search; return how many go on."""
    going = 0.0
    for c in range(count):
        V, I = x[_V + c] * found[0, c] + found[2, c] * x[_I + c], found[1, c] * x[_I + c]
        place, is_open = x[_X + c], x[_IS_OPEN + c]
        to, low, high, is_close = next_place(
            place, V - x[_V_TH + c], (I - V) * neuron.rate_m,
            ((V - I) * neuron.rate_m - I * neuron.rate_syn) * neuron.rate_m, x[_LOW + c], x[_HIGH + c], neuron
        )  # fmt: skip
        y = (to - place) * neuron.rate_syn
        # A search that is over stays where it is, while others go on.
        x[_AT + c] = I * (1 - y * (1 - y * (0.5 - y / 6))) if is_open > 0 else x[_AT + c]
        x[_X + c] = to if is_open > 0 else place
        x[_LOW + c], x[_HIGH + c] = low, high
        still = 0.0 if is_close else is_open
        x[_IS_OPEN + c] = still
        going += still
    return going


@njit(_nrt=False)
def search(crossings: Crossings, count: int, neuron: Neuron) -> None:
    """Find all crossings: fill in `begins`, their times in the step, and `factors`, from them to its end."""
    x, size, begins = crossings.values, np.uintp(count), crossings.begins
    places = x[_X : _X + size]
    for _ in range(TURNS):
        factors_of(places, neuron, crossings.factors)
        if _turn(x, size, crossings.factors, neuron) == 0:
            break
    for c in range(size):
        begins[c] += places[c]
        places[c] = neuron.dt - begins[c]
    factors_of(places, neuron, crossings.factors)


@njit(_nrt=False)
def current(crossings: Crossings, k: int) -> float:
    """Return I of a neuron when it passes V_th."""
    return crossings.values[_AT + np.uintp(k)]
