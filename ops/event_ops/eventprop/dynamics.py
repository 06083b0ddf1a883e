"""Closed forms of a LIF neuron with an exponential current between two events, and when it spikes.

tau_m * dV/dt = -(V - E_L) + I and tau_syn * dI/dt = -I. Scalars are in double precision, whatever the arrays
hold: times of spikes are roots, and everything later depends on them.
"""

import math
from typing import Any, Final, NamedTuple

from event_ops.kernels.numba_cpu.jit import njit

_TURNS: Final = 100  # of a search, which bisects where Newton's step would leave the bracket


class Neuron(NamedTuple):
    """Hold the constants of all neurons: ms, and V in any unit, which is that of I, too."""

    tau_m: Any
    tau_syn: Any
    V_th: Any
    V_reset: Any
    E_L: Any
    dt: Any


@njit(_nrt=False)
def neuron_of(parameters: Any) -> Neuron:
    """Return the constants of an array that has them in the order of `Neuron`."""
    p = parameters
    return Neuron(float(p[0]), float(p[1]), float(p[2]), float(p[3]), float(p[4]), float(p[5]))


@njit(_nrt=False)
def factors(x: float, neuron: Neuron) -> tuple[float, float, float]:
    """Return the factors by which V - E_L and I decay in a time x, and the one by which I moves V."""
    rate = 1 / neuron.tau_m - 1 / neuron.tau_syn
    of_V = math.exp(-x / neuron.tau_m)
    # Not a difference of exponentials over one of time constants, which may be equal.
    grown = math.expm1(rate * x) / rate if rate != 0 else x
    return of_V, math.exp(-x / neuron.tau_syn), of_V * grown / neuron.tau_m


@njit(_nrt=False)
def moved(V: float, I: float, x: float, neuron: Neuron) -> tuple[float, float]:
    """Return V and I after a time x without events."""
    of_V, of_I, gain = factors(x, neuron)
    return neuron.E_L + (V - neuron.E_L) * of_V + gain * I, of_I * I


@njit(_nrt=False)
def slope(V: float, I: float, neuron: Neuron) -> float:
    """Return dV/dt."""
    return (neuron.E_L - V + I) / neuron.tau_m


@njit(_nrt=False)
def first_crossing(V: float, I: float, V_end: float, I_end: float, length: float, neuron: Neuron) -> float:
    """Return when V passes V_th from below within `length`, at whose end it is V_end; -1: it does not.

    Without arrivals V has one extremum, and passes V_th once.
    """
    end = length
    if V_end <= neuron.V_th:
        begin = slope(V, I, neuron)
        # A rise that ends before `length` is concave, and stays below its first tangent.
        if begin <= 0 or V + begin * length <= neuron.V_th or slope(V_end, I_end, neuron) >= 0:
            return -1.0
        end = _root(V, I, length, length, True, neuron)
        V_end = moved(V, I, end, neuron)[0]
        if V_end <= neuron.V_th:
            return -1.0
    return _root(V, I, end * (neuron.V_th - V) / (V_end - V), end, False, neuron)


@njit(_nrt=False)
def _root(V: float, I: float, begin: float, end: float, of_slope: bool, neuron: Neuron) -> float:
    """Return the x in [0, end] where V is V_th, or has its maximum: Newton from `begin`, in a bracket."""
    low, high, x = 0.0, end, begin
    for _ in range(_TURNS):
        V_x, I_x = moved(V, I, x, neuron)
        rate = slope(V_x, I_x, neuron)
        if of_slope:
            f, df = -rate, (rate + I_x / neuron.tau_syn) / neuron.tau_m
        else:
            f, df = V_x - neuron.V_th, rate
        if f > 0:
            high = x
        else:
            low = x
        step = x - f / df if df > 0 else -1.0
        if not low <= step <= high:
            step = 0.5 * (low + high)
        # Newton's errors are squared from turn to turn: the next one is below the precision of a double.
        if abs(step - x) <= 1e-7 * neuron.dt:
            return step
        x = step
    return x
