"""Closed forms of a LIF neuron with an exponential current between two events, and when it spikes.

tau_m * dV/dt = -V + I and tau_syn * dI/dt = -I: V is counted from E_L. Scalars are in double precision,
whatever the arrays hold: times of spikes are roots, and everything later depends on them.
"""

import math
from typing import Any, Final, NamedTuple

from event_ops.kernels.numba_cpu.jit import CONTRACT, INLINED, njit

TURNS: Final = 100  # of a search, which bisects where Halley's step would leave the bracket
_SHORT: Final = 0.25  # a series has all digits of a double up to here


class Neuron(NamedTuple):
    """Hold a step and the refractory time, in ms, and the rates of all neurons, 1 / tau.

    A step is short enough for a series after `halvings`, which make it `scale` times as long. `close` is how
    short the last step of a search for a root is, in steps of dt.
    """

    dt: Any
    t_ref: Any
    rate_m: Any
    rate_syn: Any
    halvings: Any
    scale: Any
    close: Any


@njit(_nrt=False)
def neuron_of(parameters: Any) -> Neuron:
    """Return the constants of an array of dt, the number of input rows, tau_m, tau_syn and t_ref."""
    p = parameters
    dt, tau_m, tau_syn = float(p[0]), float(p[2]), float(p[3])
    halvings, scale, longest = 0, 1.0, dt / min(tau_m, tau_syn)
    while longest * scale > _SHORT:
        halvings, scale = halvings + 1, scale / 2
    # The error of the last step is its cube, which is below the precision of times in these arrays.
    close = 1e-5 if p.itemsize == 8 else 1e-3
    return Neuron(dt, float(p[4]), 1 / tau_m, 1 / tau_syn, halvings, scale, close)


@njit(_nrt=False, fastmath=CONTRACT)
def series(y: float) -> float:
    """Return (exp(y) - 1) / y of a short y, without a call, which would take longer than the rest."""
    y2 = y * y
    y4 = y2 * y2
    # The sum of y**k / (k + 1)!, in pairs, which do not wait for each other.
    low = (1 + y * (1 / 2)) + y2 * (1 / 6 + y * (1 / 24))
    middle = (1 / 120 + y * (1 / 720)) + y2 * (1 / 5040 + y * (1 / 40320))
    high = (1 / 362880 + y * (1 / 3628800)) + y2 * (1 / 39916800 + y * (1 / 479001600))
    return low + y4 * (middle + y4 * high)


@njit(_nrt=False)
def doubled(power: float, grown: float) -> tuple[float, float]:
    """Return exp(2 y) and (exp(2 y) - 1) / (2 y), from exp(y) and (exp(y) - 1) / y."""
    return power * power, grown * (0.5 * (1 + power))


@njit(_nrt=False, fastmath=CONTRACT)
def factors(x: float, neuron: Neuron) -> tuple[float, float, float]:
    """Return the factors by which V and I decay in a time x <= dt, and the one by which I moves V."""
    short = x * neuron.scale
    u, z = -short * neuron.rate_m, short * (neuron.rate_m - neuron.rate_syn)
    # Not a difference of exponentials over one of time constants, which may be equal.
    fall, grown = series(u), series(z)
    of_V, ratio = 1 + u * fall, 1 + z * grown
    for _ in range(neuron.halvings):
        of_V, fall = doubled(of_V, fall)
        ratio, grown = doubled(ratio, grown)
    return of_V, of_V * ratio, of_V * grown * (x * neuron.rate_m)


@njit(**INLINED, fastmath=CONTRACT)
def factors_of(x: Any, neuron: Neuron, found: Any) -> None:
    """Fill in the `factors` of many times, four or eight at once."""
    of_V, of_I, gain, scale = found[0], found[1], found[2], neuron.scale
    rate, difference = neuron.rate_m, neuron.rate_m - neuron.rate_syn
    for q in range(x.size):
        u, z = -x[q] * scale * rate, x[q] * scale * difference
        grown = series(z)
        of_V[q], of_I[q], gain[q] = 1 + u * series(u), 1 + z * grown, grown
    for _ in range(neuron.halvings):
        for q in range(x.size):
            of_V[q] *= of_V[q]
            of_I[q], gain[q] = doubled(of_I[q], gain[q])
    for q in range(x.size):
        of_I[q], gain[q] = of_V[q] * of_I[q], of_V[q] * gain[q] * (x[q] * rate)


@njit(_nrt=False)
def moved(V: float, I: float, x: float, neuron: Neuron) -> tuple[float, float]:
    """Return V and I after a time x without events."""
    of_V, of_I, gain = factors(x, neuron)
    return V * of_V + gain * I, of_I * I


@njit(_nrt=False)
def slope(V: float, I: float, neuron: Neuron) -> float:
    """Return dV/dt."""
    return (I - V) * neuron.rate_m


@njit(_nrt=False, error_model="numpy", fastmath=CONTRACT)
def first_guess(
    V: float, I: float, V_end: float, I_end: float, length: float, V_th: float, neuron: Neuron
) -> float:
    """Return about when V passes V_th: by the cubic that has the potentials and slopes of both ends."""
    first, last = slope(V, I, neuron), slope(V_end, I_end, neuron)
    rise, share = V_end - V, (V_th - V) / (V_end - V)
    left = 1 - share
    cubic = share * share * (3 - 2 * share) + share * left * (left / first - share / last) * (rise / length)
    is_smooth = (first > 0) & (last > 0) & (cubic >= 0) & (cubic <= 1)
    return (cubic if is_smooth else share) * length


@njit(**INLINED, error_model="numpy", fastmath=CONTRACT)
def next_place(
    x: float, f: float, df: float, ddf: float, low: float, high: float, neuron: Neuron
) -> tuple[float, float, float, bool]:
    """Return the next place of a search in a bracket, the new bracket, and whether the place is the root.

    By Halley's method, without branches, from `f` and its derivatives at x.
    """
    low, high = low if f > 0 else x, x if f > 0 else high
    below = 2 * df * df - f * ddf
    by = -2 * f * df / below
    is_inside = (df > 0) & (below > 0) & (x + by >= low) & (x + by <= high)
    # The error of this step is its cube. Where rounding takes it out of the bracket, the root is its end.
    is_close = (abs(by) <= neuron.close * neuron.dt) & (abs(by * ddf) <= neuron.close * df)
    is_narrow = high - low <= 1e-13 * neuron.dt
    return x + by if is_inside else 0.5 * (low + high), low, high, is_close if is_inside else is_narrow


@njit(_nrt=False, error_model="numpy")
def first_crossing(
    V: float, I: float, V_end: float, I_end: float, length: float, V_th: float, neuron: Neuron
) -> tuple[float, float]:
    """Return when V passes V_th from below within `length`, at whose end it is V_end, and I then.

    The time is -1 if it does not. Without arrivals V has one extremum, and passes V_th once.
    """
    end, first, last = length, slope(V, I, neuron), slope(V_end, I_end, neuron)
    if V_end <= V_th:
        # A rise that ends before `length` is concave, and stays below its first tangent.
        if first <= 0 or V + first * length <= V_th or last >= 0:
            return -1.0, 0.0
        end, I_end = _root(V, I, length, length, math.inf, neuron)
        V_end = moved(V, I, end, neuron)[0]
        if V_end <= V_th:
            return -1.0, 0.0
    return _root(V, I, first_guess(V, I, V_end, I_end, end, V_th, neuron), end, V_th, neuron)


@njit(_nrt=False, error_model="numpy")
def _root(V: float, I: float, begin: float, end: float, level: float, neuron: Neuron) -> tuple[float, float]:
    """Return the x in [0, end] where V is `level`, or, of inf, has its maximum, and I there.

    Halley's method from `begin`, in a bracket.
    """
    low, high, x = 0.0, end, begin
    for _ in range(TURNS):
        V_x, I_x = moved(V, I, x, neuron)
        of_I = I_x * neuron.rate_syn
        rate = slope(V_x, I_x, neuron)
        bend = (-rate - of_I) * neuron.rate_m
        if level == math.inf:
            f, df, ddf = -rate, -bend, (bend - of_I * neuron.rate_syn) * neuron.rate_m
        else:
            f, df, ddf = V_x - level, rate, bend
        to, low, high, is_close = next_place(x, f, df, ddf, low, high, neuron)
        if is_close:
            y = (to - x) * neuron.rate_syn
            return to, I_x * (1 - y * (1 - y * (0.5 - y / 6)))
        x = to
    return x, moved(V, I, x, neuron)[1]
