"""exp, expm1 and tanh for loops that are to vectorise, which calls into a library keep from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import overload

from event_ops.parts.numba_cpu.jit import instruction, njit
from ffi_bridge.numba_cpu.internals import as_dtype

_LN2_TAIL: Final = 2.3190468138462996e-17  # ln(2) - math.log(2)


def _round_to(dtype: Any) -> Any:
    """Return a number whose sum with another one has the nearest integer of that in its lowest bits."""
    return dtype(1.5 * 2 ** np.finfo(dtype).nmant)


def _scale(rounded: Any) -> Any:
    dtype = type(rounded)
    return np.ldexp(dtype(1), int(rounded - _round_to(dtype)))


@instruction(_scale)
def scale(context: Any, rounded: Any) -> Any:
    """Return 2**k, where `rounded` is the sum of k and `_round_to`."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        info = np.finfo(as_dtype(rounded))
        word = ir.IntType(info.bits)
        exponent = builder.shl(builder.bitcast(arguments[0], word), word(info.nmant))
        of_one = word(info.maxexp - 1 << info.nmant)
        return builder.bitcast(builder.add(exponent, of_one), context.get_value_type(rounded))

    return (rounded(rounded), emit) if isinstance(rounded, types.Float) else None


def _exp_of(dtype: Any, kept: int, degree: int) -> Callable[[Any], Any]:
    """Return exp for a float type: exp(x) = 2**k * exp(x - k * ln(2)), the latter by its Taylor series.

    Of ln(2), the first `kept` bits have exact products with every k.
    """
    info, shift = np.finfo(dtype), _round_to(dtype)
    high = round(math.log(2) * 2**kept) / 2**kept
    low, high, per_ln2 = dtype(math.log(2) - high + _LN2_TAIL), dtype(high), dtype(1 / math.log(2))
    lowest, highest = dtype(math.log(info.tiny)), dtype(math.log(info.max))
    zero, infinite = dtype(0), dtype(np.inf)
    first, *rest = (dtype(1 / math.factorial(n)) for n in range(degree, -1, -1))
    coefficients = tuple(rest)

    # Sums in the order in which they are written, unlike in the kernels: otherwise nothing would be rounded.
    # Inlined however often a loop has it, since a call keeps the loop from vectorising.
    @njit(fastmath={"contract"}, forceinline=True)
    def exp(x: Any) -> Any:
        inside = lowest if x < lowest else (highest if x > highest else x)
        rounded = inside * per_ln2 + shift
        k = rounded - shift
        near = (inside - k * high) - k * low
        series = first
        for coefficient in coefficients:
            series = series * near + coefficient
        result = series * scale(rounded)
        return zero if x < lowest else (infinite if x > highest else result)

    return exp


# The next term of the series, where |x| <= ln(2) / 2, is less than a tenth of a unit in the last place.
_EXP: Final = {
    types.float32: _exp_of(np.float32, 12, 7),
    types.float64: _exp_of(np.float64, 32, 13),
}


def exp(x: Any) -> Any:
    """Return e**x: 0 where that is below the normal numbers, and NaN for NaN."""
    return np.exp(x)


@overload(exp, strict=False)
def _exp(x: Any) -> Any:
    function = _EXP[x]
    return lambda x: function(x)


def _expm1_of(dtype: Any, degree: int) -> Callable[[Any], Any]:
    """Return exp(x) - 1 for a float type: near 0 by its Taylor series, elsewhere as it is written."""
    exp, one, near = _EXP[getattr(types, np.dtype(dtype).name)], dtype(1), dtype(math.log(2) / 2)
    first, *rest = (dtype(1 / math.factorial(n)) for n in range(degree, 0, -1))
    coefficients = tuple(rest)

    @njit(fastmath={"contract"}, forceinline=True)
    def expm1(x: Any) -> Any:
        series = first
        for coefficient in coefficients:
            series = series * x + coefficient
        return series * x if abs(x) < near else exp(x) - one

    return expm1


_EXPM1: Final = {types.float32: _expm1_of(np.float32, 8), types.float64: _expm1_of(np.float64, 14)}


def expm1(x: Any) -> Any:
    """Return e**x - 1, exact to some units in the last place; NaN for NaN."""
    return np.expm1(x)


@overload(expm1, strict=False)
def _expm1(x: Any) -> Any:
    function = _EXPM1[x]
    return lambda x: function(x)


def tanh(x: Any) -> Any:
    """Return tanh(x) = t / (t + 2) with t = expm1(2 * x), exact to some units in the last place."""
    return np.tanh(x)


@overload(tanh, strict=False)
def _tanh(x: Any) -> Any:
    function, real = _EXPM1[x], as_dtype(x).type
    two, most = real(2), real(20)  # tanh(20) is 1 in both types

    @njit(fastmath={"contract"}, forceinline=True, error_model="numpy")
    def ratio(x: Any) -> Any:
        inside = -most if x < -most else (most if x > most else x)
        t = function(two * inside)
        return t / (t + two)

    return lambda x: ratio(x)
