"""Python calls a function that a kernel calls, too: compiled anew for it, with a wrapper and exceptions."""

import cmath

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest

from ffi_bridge import numba_kernel

pytestmark = pytest.mark.usefixtures("nothing_kept")


def result(kernel):
    call = numba_kernel(kernel, jax.ShapeDtypeStruct((1,), jnp.float32))
    return float(call(jnp.ones(1))[0])


def test_a_callee_has_code_for_python_when_python_calls_it():
    @numba.njit
    def inverse(v):
        if v == 0:
            raise ValueError("no inverse", v)
        return 1 / v

    @numba.njit
    def kernel(x, y):
        for i in range(x.size):
            y[i] = 2 * inverse(x[i])

    def has_wrapper():
        return ["cpython" in text for text in inverse.inspect_llvm().values()]

    assert result(kernel) == 2
    assert has_wrapper() == [False]
    assert inverse(v=np.float32(4)) == 0.25
    assert has_wrapper() == [True]
    with pytest.raises(ValueError, match="no inverse"):
        inverse(np.float32(0))
    assert result(kernel) == 2


def test_python_calls_what_numba_compiled_for_a_kernel():
    """Numba keeps `asin` of complex numbers, which calls other functions."""

    @numba.njit
    def kernel(x, y):
        for i in range(x.size):
            y[i] = cmath.asin(x[i] + 1j).real

    z = 1 + 1j
    assert result(kernel) == pytest.approx(cmath.asin(z).real)
    assert numba.njit(lambda z: cmath.asin(z))(z) == pytest.approx(cmath.asin(z))


def test_python_calls_functions_of_what_a_kernel_calls():
    @numba.njit
    def inner(v):
        if v > 9:
            raise ValueError("too large", v)
        return v + 1

    @numba.njit
    def outer(v):
        return 2 * inner(v)

    @numba.njit
    def kernel(x, y):
        for i in range(x.size):
            y[i] = outer(x[i])

    @numba.njit
    def above(v):
        return outer(v) - 1

    assert result(kernel) == 4
    assert above(np.float32(1)) == 3
    with pytest.raises(ValueError, match="too large") as caught:
        above(np.float32(10))
    assert caught.value.args == ("too large", 10)


def test_python_calls_functions_that_call_each_other_in_a_kernel():
    @numba.njit
    def is_even(n):
        return n == 0 or is_odd(n - 1)

    @numba.njit
    def is_odd(n):
        return n != 0 and is_even(n - 1)

    @numba.njit
    def kernel(x, y):
        y[0] = is_odd(int(x[0]))

    assert result(kernel) == 1
    above = numba.njit(lambda n: is_even(n))
    assert (above(3), is_even(4), is_odd(3)) == (False, True, True)
