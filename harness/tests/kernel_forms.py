"""Operators whose kernels have the forms that people write: `pytest --operators kernel_forms`."""

import ctypes
import functools

import jax
import jax.numpy as jnp
import numba
import numpy as np
from numba.extending import get_cython_function_address

from event_ops_harness.conformance import Case, Operator
from ffi_bridge import XLACustomKernel, numba_function, numba_kernel

address = get_cython_function_address("scipy.special.cython_special", "gammaln")
gammaln = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)


@numba.njit
def power_of_row(x, scale, y, power=2):
    for i in range(y.size):
        y[i] = scale
        for _ in range(power):
            y[i] *= x[i]


@numba.njit
def reversed_sums(x):
    return np.cumsum(x)[::-1]


@numba.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
def difference(x, y):
    return (x - y) * (x + y)


@numba.guvectorize(
    ["void(float32[:], float32[:], float32[:])", "void(float64[:], float64[:], float64[:])"], "(n),(n)->()"
)
def inner_product(x, y, out):
    out[0] = 0
    for i in range(x.size):
        out[0] += x[i] * y[i]


@numba.njit
def log_gamma(x, y):
    for i in range(x.size):
        y[i] = gammaln(abs(x[i]) + 1)


@numba.njit
def sums_from_beyond(x):
    y = np.empty_like(x)
    for i in range(x.size):
        y[i] = x[i] + x[i + 1]
    return y


@numba.guvectorize(["void(float32[:], float32[:], float32[:])"], "(n),(n)->()")
def beyond(x, y, out):
    out[0] = 0
    for i in range(x.size):
        out[0] += x[i] * y[i + 1]


def operator(name, reference, kernel, numbers=0):
    """An operator of two vectors, or of a vector and a number, or of one vector."""
    made = XLACustomKernel(name)
    made.def_reference(lambda **_: reference)
    made.def_numba_kernel(lambda **_: kernel)
    count = reference.__code__.co_argcount

    def make(rng, dtype, index_dtype):
        vectors = [rng.uniform(0.5, 1, 7).astype(dtype) for _ in range(count - numbers)]
        args = (*vectors, *[np.asarray(1.5, dtype)] * numbers)
        outs = jax.eval_shape(reference, *args)
        return args, {"outs": outs}

    case = Case("of-7", make, differentiable=tuple(range(count)))
    return Operator(name, made, made, ("float32", "float64"), (case,))


def like(x, *_, **__):
    return x


OPERATORS = (
    operator(
        "options",
        lambda x, scale: scale * x**3,
        functools.partial(
            numba_kernel(power_of_row, like, static_argnames="power", scalar_argnames="scale"), power=3
        ),
        numbers=1,
    ),
    operator("returned", lambda x: jnp.cumsum(x)[::-1], numba_function(reversed_sums, like)),
    operator("elementwise", lambda x, y: (x - y) * (x + y), numba_function(difference)),
    operator("core_dimensions", lambda x, y: jnp.dot(x, y), numba_function(inner_product)),
    operator("of_c", lambda x: jax.lax.lgamma(jnp.abs(x) + 1), numba_kernel(log_gamma, like)),
    operator("returned_beyond", lambda x: x + jnp.append(x[1:], 0), numba_function(sums_from_beyond, like)),
    operator("core_beyond", lambda x, y: jnp.dot(x[:-1], y[1:]), numba_function(beyond)),
)
