"""How a number and another one that arrives become one: in registers, and atomically where threads meet."""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.reference.ordered import bits_dtype


@cuda.jit(device=True)
def add_real(y: Any, place: Any, value: Any) -> None:
    """y[place] += value."""
    cuda.atomic.add(y, place, y.dtype.type(value))


@cuda.jit(device=True)
def add_complex(y: Any, place: Any, value: Any) -> None:
    """y[place] += value, part by part: no atomic takes a complex number."""
    real, imaginary = y.real, y.imag
    cuda.atomic.add(real, place, real.dtype.type(value.real))
    cuda.atomic.add(imaginary, place, imaginary.dtype.type(value.imag))


def add_for(dtype: Any) -> Any:
    """Return the device function that adds a number of this dtype."""
    return add_complex if np.dtype(dtype).kind == "c" else add_real


@cuda.jit(device=True)
def add(a: Any, b: Any) -> Any:
    """a + b."""
    return a + b


@cuda.jit(device=True)
def larger(a: Any, b: Any) -> Any:
    """max(a, b) of integers."""
    return max(a, b)


@cuda.jit(device=True)
def smaller(a: Any, b: Any) -> Any:
    """min(a, b) of integers."""
    return min(a, b)


@cuda.jit(device=True)
def put_larger(y: Any, place: Any, value: Any) -> None:
    """y[place] = max(y[place], value) of integers."""
    cuda.atomic.max(y, place, value)


@cuda.jit(device=True)
def put_smaller(y: Any, place: Any, value: Any) -> None:
    """y[place] = min(y[place], value) of integers."""
    cuda.atomic.min(y, place, value)


@cuda.jit(device=True)
def multiply(a: Any, b: Any) -> Any:
    """a * b."""
    return a * b


@cache
def put_product_for(dtype: Any) -> Any:
    """Return the device function `y[place] *= value` for numbers of `dtype`, the bits of which y holds."""
    number, bits = np.dtype(dtype).type, bits_dtype(dtype).type
    one = number(1).view(bits)

    @cuda.jit(device=True)
    def put_product(y: Any, place: Any, value: Any) -> None:
        # The first guess need not be right: a wrong one only costs a turn.
        guess = one
        while True:
            # Compared as integers: as a float, NaN would never be equal to what was guessed.
            product = number(guess.view(number) * value)
            stored = cuda.atomic.cas(y, place, guess, product.view(bits))
            if stored == guess:
                break
            guess = stored

    return put_product


def combining(how: str, dtype: Any) -> tuple[Any, Any]:
    """Return `combine(a, b)` for updates of `dtype`, and `put(y, place, value)`, which does it atomically.

    "max" and "min" are those of integers. For "mul" y holds the bits of numbers, as integers.
    """
    if how == "mul":
        return multiply, put_product_for(dtype)
    return {"add": (add, add_for(dtype)), "max": (larger, put_larger), "min": (smaller, put_smaller)}[how]
