"""How a number and another one that arrives become one: in registers, and atomically where threads meet."""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.reference.neutral import neutral
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


@cache
def extremum_for(how: str, dtype: Any) -> Any:
    """Return the device function for the larger or smaller of a key and of an update's, a number of `dtype`.

    Made as it is read, a key takes no memory.
    """
    choose, kind = max if how == "max" else min, np.dtype(dtype)
    if kind.kind != "f":
        return cuda.jit(device=True)(lambda a, b: choose(a, b))
    key = bits_dtype(dtype).type
    magnitude, sign = np.iinfo(key).max, 8 * kind.itemsize - 1
    beyond = neutral("min" if how == "max" else "max", key)

    @cuda.jit(device=True)
    def extremum(a: Any, b: Any) -> Any:
        bits = b.view(key)
        # As `ordered_keys`: of negative numbers the magnitude is inverted, and NaN is beyond all.
        return choose(a, key(bits ^ ((bits >> sign) & magnitude)) if b == b else beyond)

    return extremum


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

    For "max" and "min" a and y hold keys of numbers, as integers; for "mul" y holds their bits.
    """
    if how == "mul":
        return multiply, put_product_for(dtype)
    if how == "add":
        return add, add_for(dtype)
    return extremum_for(how, dtype), put_larger if how == "max" else put_smaller
