"""exp, expm1 and tanh for loops that are to vectorise, which calls into a library keep from it."""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numba import types

from event_ops.kernels.numba_cpu.jit import CONTRACT, by_type, dtype_of, njit

_LN2_TAIL: Final = 2.3190468138462996e-17  # ln(2) - math.log(2)


def _highest(dtype: Any) -> Any:
    """Return the largest number whose exponential is finite."""
    info = np.finfo(dtype)
    # The logarithm may have been rounded up, and its exponential be infinite.
    highest = dtype(math.log(info.max))
    while np.exp(np.longdouble(highest)) > np.longdouble(info.max):
        highest = np.nextafter(highest, dtype(0))
    return highest


def _functions_of(
    dtype: Any, exact_bits: int, degree: int
) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return exp and expm1 for a float type: exp(x) = 2**k * exp(r), r = x - k * ln(2), by its Taylor series.

    expm1(x) = 2 * (2**(k - 1) * expm1(r) + (2**(k - 1) - 1/2)), since 2**k can be infinite where the result
    is not; near 0 it is x, which -0.0 and numbers whose halves would be 0 need. Of ln(2), the first
    `exact_bits` have exact products with every k.
    """
    info = np.finfo(dtype)
    shift = dtype(1.5 * 2**info.nmant)  # a sum with it has the nearest integer in its lowest bits
    high = round(math.log(2) * 2**exact_bits) / 2**exact_bits
    low, high, per_ln2 = dtype(math.log(2) - high + _LN2_TAIL), dtype(high), dtype(1 / math.log(2))
    lowest, highest = dtype(math.log(info.tiny)), _highest(dtype)
    limit = dtype(math.log(2) * (info.maxexp + 0.25))  # above highest; k is no larger than there
    zero, infinite = dtype(0), dtype(np.inf)
    first, *rest = (dtype(1 / math.factorial(n)) for n in range(degree, -1, -1))
    integer, digits = np.dtype(f"i{info.bits // 8}").type, np.dtype(f"i{info.bits // 8}").type(info.nmant)
    coefficients, without_one, half, little = tuple(rest), tuple(rest[:-1]), dtype(0.5), dtype(info.eps / 4)

    # Sums in the order in which they are written, unlike in the kernels: otherwise nothing would be rounded.
    # Inlined however often a loop has it, since a call keeps the loop from vectorising.
    written = njit(fastmath=CONTRACT, forceinline=True)

    @written
    def reduced(x: Any) -> Any:
        """Return the sum of k and the shift, and r."""
        inside = lowest if x < lowest else (limit if x > limit else x)
        rounded = inside * per_ln2 + shift
        k = rounded - shift
        return rounded, (inside - k * high) - k * low

    @written
    def scaled(x: Any, rounded: Any) -> Any:
        """Return x * 2**k, a normal number, where `rounded` is the sum of k and the shift.

        k is added to the exponent of x: 2**k by itself can be infinite where the product is not.
        """
        return integer(dtype(x).view(integer) + (dtype(rounded).view(integer) << digits)).view(dtype)

    @written
    def sum_of(terms: Any, near: Any) -> Any:
        series = first
        for coefficient in terms:
            series = series * near + coefficient
        return series

    @written
    def exp(x: Any) -> Any:
        rounded, near = reduced(x)
        result = scaled(sum_of(coefficients, near), rounded)
        # x + infinite is NaN for NaN, of which `scaled` may have made a number.
        return zero if x < lowest else (result if x <= highest else x + infinite)

    @written
    def expm1(x: Any) -> Any:
        rounded, near = reduced(x)
        power = scaled(half, rounded)
        result = power * (sum_of(without_one, near) * near) + (power - half)
        return x if abs(x) < little else result + result

    return exp, expm1


# The next term of the series, where |x| <= ln(2) / 2, is less than a tenth of a unit in the last place.
_FUNCTIONS: Final = {
    types.float32: _functions_of(np.float32, 12, 7),
    types.float64: _functions_of(np.float64, 32, 13),
}


@by_type(interpreted=np.exp)
def exp(x: Any) -> Any:
    """Return e**x: 0 where that is below the normal numbers, and NaN for NaN."""
    function, _ = _FUNCTIONS[x]
    return lambda x: function(x)


@by_type(interpreted=np.expm1)
def expm1(x: Any) -> Any:
    """Return e**x - 1, exact to some units in the last place; NaN for NaN."""
    _, function = _FUNCTIONS[x]
    return lambda x: function(x)


@by_type(interpreted=np.tanh)
def tanh(x: Any) -> Any:
    """Return tanh(x) = t / (t + 2) with t = expm1(2 * x), exact to some units in the last place."""
    (_, function), real = _FUNCTIONS[x], dtype_of(x).type
    two, most = real(2), real(20)  # tanh(20) is 1 in both types

    @njit(fastmath=CONTRACT, forceinline=True, error_model="numpy")
    def ratio(x: Any) -> Any:
        inside = -most if x < -most else (most if x > most else x)
        t = function(two * inside)
        return t / (t + two)

    return lambda x: ratio(x)
