"""vmap of numba_kernel: natively batched by default, and JAX's own methods."""

import functools

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest

from ffi_bridge import numba_kernel
from ffi_bridge.errors import KernelDefinitionError

# JAX raises the second, with the same text, where dispatch itself meets the error.
RUN_ERRORS = (jax.errors.JaxRuntimeError, ValueError)
METHODS = [None, "sequential", "sequential_unrolled", "expand_dims", "broadcast_all"]


@numba.njit
def outer(x, y, total, product):
    # only right for the ranks it was written for
    total[()] = 0
    for i in range(x.shape[0]):
        total[()] += x[i]
        for j in range(y.shape[0]):
            product[i, j] = x[i] * y[j]


@numba.njit
def scale_any_rank(x, s, out):
    # expand_dims and broadcast_all give it arrays with a leading axis
    out[...] = x * s


def define(vmap_method=None):
    outs = (jax.ShapeDtypeStruct((), jnp.float32), jax.ShapeDtypeStruct((2, 3), jnp.float32))
    return numba_kernel(outer, outs, vmap_method=vmap_method)


def reference(x, y):
    return x.sum(), x[:, None] * y[None, :]


X, Y = (2,), (3,)


@pytest.mark.promise(1)
@pytest.mark.parametrize("method", [None, "sequential"])
@pytest.mark.parametrize(
    ("axes", "shapes"),
    [
        ([(0, 0)], [(4, *X), (4, *Y)]),
        ([(0, None)], [(4, *X), Y]),
        ([(None, 1)], [X, (3, 4)]),
        ([(0, 0), (0, 0)], [(5, 4, *X), (5, 4, *Y)]),
        ([(0, None), (None, 0)], [(4, *X), (5, *Y)]),
        ([(None, 0), (0, None)], [(5, *X), (4, *Y)]),
        ([(0, None), (0, 0)], [(4, 5, *X), (5, *Y)]),
        ([(1, None), (0, 0), (None, 0)], [(4, 5, *X), (4, 6, *Y)]),
        ([(0, 0)], [(0, *X), (0, *Y)]),
    ],
)
def test_the_kernel_sees_its_own_ranks(method, axes, shapes):
    keys = jax.random.split(jax.random.key(0), 2)
    x, y = (jax.random.normal(k, s) for k, s in zip(keys, shapes, strict=True))

    def mapped(f):
        return functools.reduce(lambda g, a: jax.vmap(g, in_axes=a), reversed(axes), f)

    # the axes given first are those of the outermost vmap
    expected = mapped(reference)(x, y)
    assert expected[1].shape[-2:] == (*X, *Y)  # else the kernel itself would write out of bounds
    for run in (mapped(define(method)), jax.jit(mapped(define(method)))):
        for got, want in zip(run(x, y), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


@pytest.mark.promise(1)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0)])
def test_every_method_gives_the_same(method, in_axes):
    f = numba_kernel(scale_any_rank, jax.ShapeDtypeStruct((3,), jnp.float32), vmap_method=method)
    x = jnp.arange(12.0).reshape(4, 3) if in_axes[0] == 0 else jnp.arange(3.0)
    s = jnp.arange(12.0).reshape(4, 3) + 1 if in_axes[1] == 0 else jnp.full(3, 2.0)
    np.testing.assert_array_equal(jax.vmap(f, in_axes)(x, s), jax.vmap(jnp.multiply, in_axes)(x, s))


@pytest.mark.parametrize(
    ("method", "lead"), [("expand_dims", 1), ("broadcast_all", 4), ("legacy_vectorized", 3)]
)
def test_what_the_kernel_sees(method, lead):
    @numba.njit
    def shapes(x, s, out):
        out[...] = s.shape[0]

    f = numba_kernel(shapes, jax.ShapeDtypeStruct((3,), jnp.float32), vmap_method=method)
    out = jax.vmap(f, (0, None))(jnp.ones((4, 3)), jnp.ones(3))
    np.testing.assert_array_equal(out, np.full((4, 3), lead))


def test_unrolled_is_a_call_for_each_element():
    f = jax.jit(jax.vmap(define("sequential_unrolled"), (0, None)))
    text = f.lower(jnp.ones((4, 2)), jnp.ones(3)).compile().as_text()
    assert text.count("custom-call(") == 4
    assert "while" not in text


def test_an_empty_batch_is_no_call():
    for method in METHODS:
        f = jax.vmap(define(method), (0, None))
        assert [x.shape[0] for x in f(jnp.ones((0, 2)), jnp.ones(3))] == [0, 0]


def test_native_batching_is_one_call_in_the_program():
    f = jax.jit(jax.vmap(define(), (0, None)))
    text = f.lower(jnp.ones((4, 2)), jnp.ones(3)).compile().as_text()
    assert text.count("custom-call(") == 1
    assert "while" not in text
    assert "broadcast" not in text


@pytest.mark.promise(5)
def test_a_raise_in_one_element_of_a_batch_is_an_error():
    @numba.njit
    def positive(x, out):
        if x[0] < 0:
            raise ValueError("negative")
        out[0] = x[0]

    f = jax.vmap(numba_kernel(positive, jax.ShapeDtypeStruct((1,), jnp.float32)))
    np.testing.assert_array_equal(f(jnp.ones((3, 1))), 1)
    with pytest.raises(RUN_ERRORS, match="kernel 'positive' raised ValueError: negative"):
        jax.block_until_ready(f(jnp.array([[1.0], [-1.0], [1.0]])))


def test_an_unknown_method_is_refused():
    with pytest.raises(KernelDefinitionError, match=r"vmap_method='parallel'.*'sequential'"):
        define("parallel")
