"""numba_function of universal functions: loops, broadcasting and core dimensions are those of NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import enable_x64
from numba import float32, float64, guvectorize, int32, njit, vectorize

from ffi_bridge import numba_function, numba_kernel
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError


@vectorize([int32(int32, int32), float32(float32, float32), float64(float64, float64)])
def multiply_add(a, b):
    return a * b + 1


@vectorize
def positive_part(a):
    return a if a > 0 else 0 * a


@vectorize([float32(float32, float32)])
def of_awkward_names(i, out):
    return i + out


@vectorize([float64(float64, float64)])
def ratio(a, b):
    return a / b


@guvectorize([(float64[:], float64, float64[:]), (float32[:], float32, float32[:])], "(n), () -> (n)")
def scale(x, factor, y):
    for i in range(x.size):
        y[i] = factor * x[i]


@guvectorize([(float32[:], float32[:], float32[:])], "(n)->(),()")
def extremes(x, low, high):
    low[0], high[0] = x.min(), x.max()


@guvectorize([(float32[:], float32[:], float32[:])], "(n),()->()")
def shifted_sum(x, shift, y):
    y[0] = x.sum() + shift[0]


@guvectorize("(m,n),(n,p)->(m,p)")
def product(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = 0
            for k in range(b.shape[0]):
                c[i, j] += a[i, k] * b[k, j]


X = jnp.arange(6.0).reshape(2, 3) - 2


@pytest.mark.parametrize(
    "shapes", [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((), ())]
)
@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("int32", "int32"), ("int32", "float32")])
def test_elements_and_broadcasting(shapes, dtypes):
    a, b = (
        np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(x)
        for shape, x in zip(shapes, dtypes, strict=True)
    )
    found = numba_function(multiply_add)(a, b)
    np.testing.assert_allclose(found, multiply_add(a, b), rtol=1e-6)
    assert found.dtype == (jnp.int32 if dtypes == ("int32", "int32") else jnp.float32)


def test_names_do_not_collide():
    np.testing.assert_array_equal(numba_function(of_awkward_names)(X, X), 2 * X)


def test_loops_of_64_bits():
    with enable_x64(True):
        found = numba_function(multiply_add)(jnp.arange(3, dtype="int32"), jnp.float64(2**-30))
        assert found.dtype == "float64"
        np.testing.assert_array_equal(found, multiply_add(np.arange(3, dtype="int32"), 2**-30))


def test_a_loop_of_64_bits_computes_in_them_whatever_jax_has():
    big = jnp.float32(2.0**100)
    assert numba_function(ratio)(big * 2.0**27, big) == 2.0**27
    expected = [[-np.inf, -np.inf, np.nan], [np.inf, np.inf, np.inf]]
    np.testing.assert_array_equal(numba_function(ratio)(X, 0.0), expected)


@pytest.mark.parametrize("dtype", ["int8", "int32", "float32"])
def test_loops_that_are_compiled_when_called(dtype):
    x = X.astype(dtype)
    found = numba_function(positive_part)(x)
    np.testing.assert_array_equal(found, np.maximum(np.asarray(x), 0))


@pytest.mark.slow
def test_core_dimensions():
    call = numba_function(scale)
    np.testing.assert_array_equal(call(X, 2.0), 2 * X)
    np.testing.assert_array_equal(call(X, jnp.array([1.0, -1.0])), np.asarray(X) * [[1], [-1]])
    low, high = numba_function(extremes)(X)
    np.testing.assert_array_equal([low, high], [[-2, 1], [0, 3]])
    np.testing.assert_array_equal(numba_function(shifted_sum)(X, 1.0), [-2, 7])


@pytest.mark.slow
def test_products_of_stacks():
    a, b = jnp.arange(30.0).reshape(5, 2, 3), jnp.arange(12.0).reshape(3, 4)
    call = jax.numpy_rank_promotion("allow")(numba_function(product))
    np.testing.assert_allclose(call(a, b), a @ b)
    np.testing.assert_allclose(jax.jit(jax.vmap(call, (None, 1)))(a, jnp.stack([b, -b], 1)), [a @ b, -a @ b])
    np.testing.assert_allclose(call(a.astype("int32"), b.astype("int32")), a @ b)


def test_vmap_and_scan_of_elements():
    call = numba_function(multiply_add)
    np.testing.assert_array_equal(jax.vmap(call, (0, None))(X, 2.0), 2 * X + 1)
    np.testing.assert_array_equal(
        jax.vmap(call, (1, 0))(X, jnp.arange(3.0)), np.asarray(X).T * np.arange(3)[:, None] + 1
    )
    np.testing.assert_array_equal(jax.lax.scan(lambda x, _: (call(x, 2.0), None), X, length=2)[0], 4 * X + 3)


@pytest.mark.parametrize(
    ("ufunc", "args", "error", "text"),
    [
        (multiply_add, (X,), KernelTypeError, "'multiply_add' got 1 inputs; expected 2: a, b"),
        (
            multiply_add,
            (X, 1j),
            KernelTypeError,
            "no loop for float32, complex64; it is declared for int32,int32->",
        ),
        (multiply_add, (X, jnp.ones(2)), ValueError, "Incompatible shapes for broadcasting"),
        (scale, (X,), KernelTypeError, "'scale' got 1 inputs; expected 2: x, factor"),
        (product, (X, X), ValueError, "inconsistent size for core dimension 'n'"),
    ],
)
def test_wrong_calls(ufunc, args, error, text):
    with pytest.raises(error, match=text):
        numba_function(ufunc)(*args)


def test_wrong_definitions():
    with pytest.raises(
        KernelDefinitionError, match=r"multiply_add is a universal function.*expected no outs"
    ):
        numba_function(multiply_add, X)
    with pytest.raises(TypeError, match="needs a Numba CPU kernel"):
        numba_function(np.add)


@vectorize
def root(a):
    if a < 0:
        raise ValueError("of a negative number")
    return a**0.5


@guvectorize([(float32[:], float32[:])], "(n)->(n)")
def shares(x, y):
    if x.sum() == 0:
        raise ValueError("of nothing")
    y[:] = x / x.sum()


@njit
def roots(x):
    return root(x) + 1


@njit
def roots_and_shares(x, y, z):
    y[:] = roots(x)
    shares(x, z)


@pytest.mark.parametrize(("x", "text"), [([4, -1], "of a negative number"), ([0, 0], "of nothing")])
def test_what_an_element_raises_within_a_kernel_is_raised(x, text):
    call = numba_kernel(roots_and_shares, lambda x: (x, x))
    np.testing.assert_array_equal(call(np.float32([4, 0])), [[3, 1], [1, 0]])
    errors = ValueError, jax.errors.JaxRuntimeError  # JAX raises either
    with pytest.raises(errors, match=f"kernel 'roots_and_shares' raised ValueError: {text}"):
        jax.block_until_ready(call(np.float32(x)))
