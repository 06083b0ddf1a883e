"""Kernels that call C: functions of a library, of Cython modules, and Numba's own `@cfunc`."""

import ctypes

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
import scipy.special
from jax import enable_x64
from numba.extending import get_cython_function_address

from ffi_bridge import numba_function, numba_kernel
from ffi_bridge.errors import CopiedInputWarning, KernelTypeError

DOUBLE, POINTER = ctypes.c_double, ctypes.c_void_p
gammaln = ctypes.CFUNCTYPE(DOUBLE, DOUBLE)(
    get_cython_function_address("scipy.special.cython_special", "gammaln")
)
ddot = ctypes.CFUNCTYPE(DOUBLE, *[POINTER] * 5)(
    get_cython_function_address("scipy.linalg.cython_blas", "ddot")
)
libm = ctypes.CDLL(None)
hypot = libm.hypot
hypot.restype, hypot.argtypes = DOUBLE, [DOUBLE, DOUBLE]


@numba.vectorize(["float64(float64)"])
def log_gamma(x):
    return gammaln(x)


@numba.njit
def dot(x, y):
    size, one = np.array([x.size], np.int32), np.array([1], np.int32)
    return ddot(size.ctypes, x.ctypes, one.ctypes, y.ctypes, one.ctypes)


@numba.njit
def lengths(x, y, z):
    for i in range(z.size):
        z[i] = hypot(x[i], y[i])


@numba.cfunc("float64(float64)")
def square(x):
    return x * x


@numba.njit
def sum_of_squares(x):
    total = 0.0
    for value in x:
        total += square(value)
    return total


def test_special_functions_of_scipy():
    x = jnp.linspace(0.1, 20, 50).reshape(5, 10)
    for call in (numba_function(log_gamma), jax.jit(jax.vmap(numba_function(log_gamma)))):
        np.testing.assert_allclose(call(x), scipy.special.gammaln(np.asarray(x)), rtol=2e-6, atol=1e-6)


def test_blas_of_scipy():
    with enable_x64(True):
        x = jnp.arange(12.0).reshape(3, 4)
        call = numba_function(dot, jax.ShapeDtypeStruct((), "float64"))
        with pytest.warns(CopiedInputWarning, match="'x' goes to a function that is known by its address"):
            jax.eval_shape(jax.vmap(call, (0, None)), x, x[0])
        np.testing.assert_array_equal(jax.vmap(call, (0, None))(x, x[0]), x @ x[0])


def test_functions_of_a_library():
    x = jnp.array([3.0, 5.0, 8.0])
    call = numba_kernel(lengths, lambda x, y: x)
    np.testing.assert_array_equal(call(x, jnp.array([4.0, 12.0, 15.0])), [5, 13, 17])


def test_cfuncs_of_numba():
    call = numba_function(sum_of_squares, jax.ShapeDtypeStruct((), "float32"))
    np.testing.assert_array_equal(jax.vmap(call)(jnp.arange(6.0).reshape(2, 3)), [5, 50])


def test_functions_that_need_the_gil_are_refused():
    has_error = ctypes.pythonapi["PyErr_Occurred"]
    has_error.restype, has_error.argtypes = POINTER, []

    @numba.njit
    def asks(x):
        return x[0] if has_error() else x[1]

    with pytest.raises(KernelTypeError, match=r"kernel '.*' calls has_error, in asks, .* expects the GIL"):
        numba_function(asks, jax.ShapeDtypeStruct((), "float32"))(jnp.arange(2.0))


def test_a_python_function_behind_a_pointer_takes_the_gil():
    seen = []
    double = ctypes.CFUNCTYPE(DOUBLE, DOUBLE)(lambda x: (seen.append(x), 2 * x)[1])

    @numba.njit
    def doubled(x, y):
        for i in range(x.size):
            y[i] = double(x[i])

    np.testing.assert_array_equal(numba_kernel(doubled, lambda x: x)(jnp.arange(3.0)), [0, 2, 4])
    assert seen == [0, 1, 2]
