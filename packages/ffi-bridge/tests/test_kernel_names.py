"""Kernels whose names are no names of definitions, or not of ASCII, as lambdas have them."""

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest

from ffi_bridge import numba_function, numba_kernel
from ffi_bridge.targets import target_name, targets

X = jnp.arange(1.0, 5.0)
NAMES = ["<lambda>", "café", "Größe", "雪", "class", "a b", "%s{}"]


def doubled(name, *parameters):
    """Return a function of this name that doubles, or a kernel where there are two parameters."""
    text = f"lambda {parameters[0]}: {parameters[0]} * 2"
    if len(parameters) > 1:
        x, y, *_ = parameters
        text = f"lambda {x}, {y}: {y}.fill({x}[1] * 2)"
    function = eval(text)
    function.__name__ = function.__qualname__ = name
    return function


@pytest.mark.parametrize("name", NAMES)
def test_functions_and_kernels_of_any_name(name):
    call = numba_function(numba.njit(doubled(name, "x")), lambda x: x)
    assert call.__name__ == name
    np.testing.assert_array_equal(call(X), 2 * X)
    np.testing.assert_array_equal(jax.jit(jax.vmap(call))(X[None]), 2 * X[None])
    kernel = numba_kernel(numba.njit(doubled(name, "ä", "ö")), X)
    np.testing.assert_array_equal(kernel(X), jnp.full(4, 4.0))
    ufunc = numba_function(numba.vectorize(doubled(name, "x")))
    np.testing.assert_array_equal(ufunc(X), 2 * X)


def test_a_lambda_with_constants_and_threads():
    scaled = numba_function(numba.njit(lambda x, n: x * n), X, static_argnames="n")
    np.testing.assert_array_equal(scaled(X, n=3), 3 * X)
    in_parallel = numba_function(numba.njit(parallel=True)(lambda x: x * 2), X)
    np.testing.assert_array_equal(in_parallel(X), 2 * X)


def test_errors_have_the_name_as_it_is_written():
    def räuber(x, y):
        if x[0] > 0:
            raise ValueError("schön")
        y[:] = x

    with pytest.raises(jax.errors.JaxRuntimeError, match="kernel 'räuber' raised ValueError: schön"):
        jax.block_until_ready(numba_kernel(numba.njit(räuber), X)(X))


def test_targets_have_names_of_ascii():
    numba_kernel(numba.njit(doubled("naïve", "x", "y")), X)(X)
    assert any(name.startswith("na_ve.numba_cpu.") for name in targets())
    assert target_name("雪 <lambda>", "warp", "0a") == "__<lambda>.warp.0a"
    assert all(name.isascii() for name in targets())
