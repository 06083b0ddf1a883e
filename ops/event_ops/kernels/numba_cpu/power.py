"""x**y for loops that are to vectorise, which a call into the mathematical library keeps from it."""

import math
from typing import Any, Final

import numpy as np

from event_ops.kernels.numba_cpu.jit import CONTRACT, by_type, dtype_of, njit

# 2**y overflows, or is 0, far within these bounds.
_LOWEST, _HIGHEST = -300.0, 300.0
_ROUND: Final = 1.5 * 2.0**52  # a sum with it has the nearest integer in its lowest bits
_LOW_HALF: Final = math.sqrt(0.5)
# log2(m) = 2 / ln(2) * artanh(s), s = (m - 1) / (m + 1), where |s| < 0.172; 2**f, where |f| <= 0.5.
_LOG: Final = tuple(2 / math.log(2) / n for n in range(11, 0, -2))
_EXP: Final = tuple(math.log(2) ** n / math.factorial(n) for n in range(7, -1, -1))


@njit(forceinline=True)
def bits(x: Any) -> Any:
    """Return the bits of a float64 as an integer."""
    return np.float64(x).view(np.int64)


@njit(forceinline=True)
def number(x: Any) -> Any:
    """Return the float64 that has these bits."""
    return np.int64(x).view(np.float64)


# Sums in the order in which they are written; inlined however often a loop has it, as in `exponential.py`.
@njit(fastmath=CONTRACT, forceinline=True, error_model="numpy")
def _of_float32(x: Any, y: Any) -> Any:
    """Return x**y in float64, with digits enough for float32."""
    size, exponent = np.float64(abs(x)), np.float64(y)
    # The exponent of size as a float64 with the rounding number's own, so that no integer is converted.
    word = bits(size) - bits(_LOW_HALF)
    power = number((word >> np.int64(52)) + bits(_ROUND)) - _ROUND
    mantissa = number(bits(size) - (word & ~np.int64((1 << 52) - 1)))
    # In terms of s the series has odd powers alone, and half as many terms.
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square, series = s * s, _LOG[0]
    for coefficient in _LOG[1:]:
        series = series * square + coefficient
    wanted = exponent * (power + series * s)
    inside = _LOWEST if wanted < _LOWEST else (_HIGHEST if wanted > _HIGHEST else wanted)
    rounded = inside + _ROUND
    rest, result = inside - (rounded - _ROUND), _EXP[0]
    for coefficient in _EXP[1:]:
        result = result * rest + coefficient
    result = number(bits(result) + (bits(rounded) << np.int64(52)))
    # What follows is as for `pow` of C: first |x| that has no logarithm, or 0; then the sign; then NaN.
    grows = (size > 1.0) == (exponent > 0.0)
    result = (np.inf if grows else 0.0) if (size == 0.0) | (size == np.inf) else result
    result = 1.0 if size == 1.0 else result
    half, is_whole = 0.5 * exponent, np.floor(exponent) == exponent
    is_odd = is_whole & (np.floor(half) != half)
    result = -result if is_odd & (bits(np.float64(x)) < 0) else result
    lacks = ((x < 0) & (size != np.inf) & (not is_whole)) | (size != size) | (exponent != exponent)
    result = np.nan if lacks else result
    return 1.0 if (exponent == 0.0) | (x == 1) else result


@by_type(interpreted=np.power, forceinline=True)
def power(x: Any, y: Any) -> Any:
    """Return x**y for floats of one type, as the function `pow` of C."""
    if dtype_of(x) == np.float32:
        return lambda x, y: np.float32(_of_float32(x, y))
    return lambda x, y: x**y
