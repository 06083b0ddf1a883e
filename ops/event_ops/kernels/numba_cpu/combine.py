"""Combinations of a value with one that arrives: their sum, maximum, minimum or product."""

from typing import Any

from event_ops.kernels.numba_cpu.jit import njit


@njit
def add(a: Any, b: Any) -> Any:
    """a + b."""
    return a + b


@njit
def maximum(a: Any, b: Any) -> Any:
    """max(a, b), NaN if one of them is: the first comparison is False then."""
    return a if a >= b or a != a else b


@njit
def minimum(a: Any, b: Any) -> Any:
    """min(a, b), NaN if one of them is."""
    return a if a <= b or a != a else b


@njit
def multiply(a: Any, b: Any) -> Any:
    """a * b."""
    return a * b


COMBINE = {"add": add, "max": maximum, "min": minimum, "mul": multiply}
