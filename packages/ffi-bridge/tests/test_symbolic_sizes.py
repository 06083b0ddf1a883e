"""Exported programs whose sizes are symbolic: native calls take every size, or say why they cannot."""

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from jax.export import symbolic_shape

import ffi_bridge
from ffi_bridge import numba_kernel
from ffi_bridge.errors import KernelTypeError

pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers to serialise")

B, N = symbolic_shape("b, n")


def struct(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


@numba.njit
def multiply(x, y, out):
    if x.size != y.size:
        raise ValueError("sizes differ")
    for i in range(out.size):
        out[i] = x[i] * y[i]


@numba.njit
def multiply_any_rank(x, y, out):
    out[...] = x * y


@numba.njit
def multiply_in_place(x, y, out):
    for i in range(out.size):
        out[i] *= y[i]


@numba.njit(parallel=True)
def multiply_in_shares(x, y, out):
    for i in numba.prange(out.size):
        out[i] = x[i] * y[i]


def wrapped(kernel, **options):
    return lambda x, y: numba_kernel(kernel, struct(*x.shape), **options)(x, y)


def there_and_back(function, *structs):
    exported = ffi_bridge.export.export(jax.jit(function))(*structs)
    return ffi_bridge.export.deserialize(exported.serialize()).call


@pytest.mark.parametrize("kernel", [multiply, multiply_in_place, multiply_in_shares])
def test_a_symbolic_length(kernel):
    aliases = {0: 0} if kernel is multiply_in_place else None
    call = there_and_back(wrapped(kernel, input_output_aliases=aliases), struct(N), struct(N))
    for size in (3, 100):
        x = jnp.arange(1.0, size + 1)
        np.testing.assert_array_equal(call(x, x), x * x)


@pytest.mark.parametrize("method", [None, "sequential", "expand_dims", "broadcast_all"])
def test_a_symbolic_batch(method):
    kernel = multiply_any_rank if method in ("expand_dims", "broadcast_all") else multiply
    mapped = jax.vmap(wrapped(kernel, vmap_method=method), (0, None))
    call = there_and_back(mapped, struct(B, N), struct(N))
    for shape in ((3, 4), (7, 2)):
        x = jnp.arange(1.0, shape[0] * shape[1] + 1).reshape(shape)
        np.testing.assert_array_equal(call(x, x[0]), x * x[:1])


def test_a_batch_of_an_aliased_input_without_one():
    mapped = jax.vmap(wrapped(multiply_in_place, input_output_aliases={0: 0}), (None, 0))
    call = there_and_back(mapped, struct(N), struct(B, N))
    y = jnp.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(call(jnp.full(2, 2.0), y), 2 * y)


def test_what_a_kernel_raises_arrives():
    call = there_and_back(lambda x, y: numba_kernel(multiply, struct(N))(x, y), struct(N), struct(2))
    with pytest.raises(jax.errors.JaxRuntimeError, match="sizes differ"):
        jax.block_until_ready(call(jnp.ones(3), jnp.ones(2)))


def test_a_batch_that_cannot_be_unrolled():
    mapped = jax.vmap(wrapped(multiply, vmap_method="sequential_unrolled"))
    with pytest.raises(KernelTypeError, match=r"symbolic size b cannot be unrolled.*'sequential', or None"):
        there_and_back(mapped, struct(B, 3), struct(B, 3))


def test_a_kernel_that_is_compiled_for_its_sizes_says_so():
    wp = pytest.importorskip("warp", reason="Warp is not installed")
    warp_kernel = pytest.importorskip("ffi_bridge.warp.kernel").warp_kernel

    @wp.kernel
    def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[wp.tid()] = 2.0 * x[wp.tid()]

    message = r"'x' has the symbolic shape \(n,\), and a Warp kernel is compiled for its sizes; export one"
    with pytest.raises(KernelTypeError, match=message):
        there_and_back(lambda x: warp_kernel(double, struct(*x.shape))(x), struct(N))
