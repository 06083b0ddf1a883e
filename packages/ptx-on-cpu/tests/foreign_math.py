"""Functions of libdevice as numba-cuda calls them, beside those of C, within the documented units."""

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from foreign_kernels import normal
from numba import cuda

# How many units in the last place libdevice may be off in single and in double precision, by the CUDA C++
# Programming Guide, "Mathematical Functions"; a half where it rounds correctly, nothing where it is exact.
ULP = {
    "sin": (2, 2), "cos": (2, 2), "tan": (4, 2), "asin": (2, 2), "acos": (2, 2), "atan": (2, 2),
    "sinh": (3, 2), "cosh": (2, 1), "tanh": (2, 1), "asinh": (3, 3), "acosh": (4, 3), "atanh": (3, 2),
    "exp": (2, 1), "expm1": (1, 1), "log": (1, 1), "log1p": (1, 1), "log2": (1, 1), "log10": (2, 1),
    "sqrt": (0.5, 0.5), "erf": (2, 2), "erfc": (4, 5), "gamma": (5, 10), "lgamma": (6, 4),
    "atan2": (3, 2), "pow": (4, 2), "hypot": (3, 2), "cbrt": (1, 1), "fma": (0.5, 0.5), "fmod": (0, 0),
    "copysign": (0, 0), "floor": (0, 0), "ceil": (0, 0), "fabs": (0, 0), "ldexp": (0, 0), "round": (0, 0),
    "mantissa": (0, 0), "exponent": (0, 0),
}  # fmt: skip


def _of_c(name: str) -> Callable[..., float]:
    """Return a function of C that Python's own one of this name is not."""
    function = getattr(ctypes.CDLL(None), name)
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
    return function


def _fma(a: float, b: float) -> float:
    return float(Fraction(a) * Fraction(b) + Fraction(a))


OTHERS: dict[str, Callable[..., float]] = {
    "gamma": _of_c("tgamma"),
    "lgamma": _of_c("lgamma"),
    "fma": _fma,
    "ldexp": lambda a: math.ldexp(a, 3),
    "round": lambda a: float(round(a)),
    "mantissa": lambda a: math.frexp(a)[0],
    "exponent": lambda a: float(math.frexp(a)[1]),
}
OF_TWO = ("atan2", "pow", "hypot", "fmod", "copysign", "fma")


def _anywhere(a, b, y):
    i = cuda.grid(1)
    x = a[i]
    y[0, i], y[1, i], y[2, i], y[3, i] = math.sin(x), math.cos(x), math.tan(x), math.atan(x)
    y[4, i], y[5, i], y[6, i], y[7, i] = math.sinh(x), math.cosh(x), math.tanh(x), math.asinh(x)
    y[8, i], y[9, i], y[10, i], y[11, i] = math.exp(x), math.expm1(x), math.erf(x), math.erfc(x)
    y[12, i], y[13, i], y[14, i], y[15, i] = cuda.cbrt(x), math.floor(x), math.ceil(x), math.fabs(x)


def _large(a, b, y):
    i = cuda.grid(1)
    y[0, i], y[1, i], y[2, i] = math.sin(a[i]), math.cos(a[i]), math.tan(a[i])


def _positive(a, b, y):
    i = cuda.grid(1)
    x = a[i]
    y[0, i], y[1, i], y[2, i], y[3, i] = math.log(x), math.log1p(x), math.log2(x), math.log10(x)
    y[4, i], y[5, i], y[6, i], y[7, i] = math.sqrt(x), math.gamma(x), math.lgamma(x), math.pow(x, b[i])


def _within_one(a, b, y):
    i = cuda.grid(1)
    y[0, i], y[1, i], y[2, i] = math.asin(a[i]), math.acos(a[i]), math.atanh(a[i])


def _from_one_on(a, b, y):
    i = cuda.grid(1)
    y[0, i] = math.acosh(a[i])


def _of_two(a, b, y):
    i = cuda.grid(1)
    p, q = a[i], b[i]
    y[0, i], y[1, i], y[2, i], y[3, i] = (
        math.atan2(p, q),
        math.hypot(p, q),
        math.fmod(p, q),
        math.copysign(p, q),
    )
    y[4, i], y[5, i], y[6, i] = cuda.fma(p, q, p), math.ldexp(p, 3), round(p)
    y[7, i], y[8, i] = math.frexp(p)


@dataclass(frozen=True)
class Functions:
    """A kernel that writes one row for each function, and the numbers that it gets."""

    kernel: Any
    names: tuple[str, ...]
    numbers: Callable[[np.ndarray], np.ndarray]

    def arguments(self, kind: str) -> tuple[np.ndarray, ...]:
        """Return two arrays of numbers, and one for the results."""
        a, b = normal(2, 128, dtype="d")
        return self.numbers(a).astype(kind), b.astype(kind), np.zeros((len(self.names), 128), kind)

    def check(self, a: np.ndarray, b: np.ndarray, y: np.ndarray) -> None:
        """Compare with the functions of C in double precision, which may be off by a unit of its own."""
        for name, row in zip(self.names, y, strict=True):
            function = OTHERS.get(name) or getattr(math, name)
            pairs = zip(a.tolist(), b.tolist(), strict=True)
            wanted = np.array([function(p, q) if name in OF_TWO else function(p) for p, q in pairs])
            units = ULP[name][y.dtype == "d"]
            if y.dtype == "d" and units > 0.5:
                units += 1
            allowed = units * np.spacing(abs(wanted).astype(y.dtype)).astype("d") * (1 + 1e-6)
            wrong = ~(abs(row.astype("d") - wanted) <= allowed)
            assert not wrong.any(), (name, a[wrong], row[wrong], wanted[wrong])


GROUPS = {
    "anywhere": Functions(
        _anywhere,
        (
            *("sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "exp", "expm1", "erf", "erfc"),
            *("cbrt", "floor", "ceil", "fabs"),
        ),
        lambda x: 3 * x,
    ),
    "large": Functions(_large, ("sin", "cos", "tan"), lambda x: x * 10 ** (6 + 3 * abs(x))),
    "positive": Functions(
        _positive,
        ("log", "log1p", "log2", "log10", "sqrt", "gamma", "lgamma", "pow"),
        lambda x: np.exp(x.clip(-3, 3)) + 0.01,
    ),
    "within one": Functions(_within_one, ("asin", "acos", "atanh"), np.tanh),
    "from one on": Functions(_from_one_on, ("acosh",), lambda x: 1 + np.exp(2 * x)),
    "of two": Functions(
        _of_two,
        ("atan2", "hypot", "fmod", "copysign", "fma", "ldexp", "round", "mantissa", "exponent"),
        lambda x: 5 * x,
    ),
}
