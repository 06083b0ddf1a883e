"""CUDA kernels that store to an input past its read-only type, or report exceptions, are refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from numba import cuda

from ffi_bridge import numba_cuda_kernel
from ffi_bridge.errors import KernelTypeError

X = jnp.arange(4.0)
pytestmark = pytest.mark.usefixtures("gpu")


@cuda.jit
def adds(factor, x, y):
    i = cuda.grid(1)
    cuda.atomic.add(x, i, y[i] * factor[0])


@cuda.jit
def through_flat(factor, x, y):
    i = cuda.grid(1)
    y[i] = factor[0]
    if i > 2:
        x.flat[i] = 7


@cuda.jit
def swaps(factor, x, y):
    i = cuda.grid(1)
    y[i] = cuda.atomic.cas(x.view(np.int32), i, 0, 1) * factor[0]


@cuda.jit
def in_place(factor, x, y):
    cuda.atomic.add(y, cuda.grid(1), factor[0] * x[0])


@cuda.jit
def ordinary(factor, x, y):
    shared = cuda.shared.array(4, np.float32)
    i = cuda.grid(1)
    shared[i] = x[i]
    cuda.atomic.add(shared, i, 1)
    cuda.syncthreads()
    y[i] = 0
    cuda.atomic.add(y, i, shared[i] + factor[0])


@pytest.mark.parametrize("kernel", [adds, through_flat, swaps], ids=lambda kernel: kernel.__name__)
def test_a_store_to_an_input_is_refused_by_name(kernel):
    call = numba_cuda_kernel(kernel, X, launch_dims=4)
    message = rf"'{kernel.__name__}' writes into its input 'x', as its PTX shows.*input_output_aliases"
    with pytest.raises(KernelTypeError, match=message):
        jax.eval_shape(call, X[:1], X)
    with pytest.raises(KernelTypeError, match=rf"'{kernel.__name__}' writes into its input"):
        jax.eval_shape(jax.vmap(call, (None, 0)), X[:1], X[None])


def test_what_writes_to_outputs_and_shared_memory_alone_runs():
    call = numba_cuda_kernel(ordinary, X, launch_dims=4)
    np.testing.assert_array_equal(call(X[:1] + 2, X), X + 3)
    aliased = numba_cuda_kernel(in_place, X, launch_dims=4, input_output_aliases={1: 0})
    assert jax.jit(aliased)(X[:1] + 2, X).shape == (4,)


def positive(value):
    if value < 0:
        raise ValueError("negative")
    return value


def checked(n, x, y):
    y[()] = checked_value(n) * x[()]


checked_value = cuda.jit(device=True)(positive)


def test_what_a_kernel_for_debugging_raises_is_refused():
    two = jnp.float32(2)
    call = numba_cuda_kernel(
        cuda.jit(debug=True, opt=False)(checked), two, launch_dims=1, static_argnames="n"
    )
    with pytest.raises(
        KernelTypeError, match="'checked' has debug=True, and raises an exception, in positive"
    ):
        jax.eval_shape(lambda x: call(x, n=3), two)
    call = numba_cuda_kernel(cuda.jit(checked), two, launch_dims=1, static_argnames="n")
    assert call(two, n=3) == 6
