"""numba_cuda_kernel: outputs and launches that follow the inputs, and launches that are kept."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from numba import cuda, types

from ffi_bridge import numba_cuda_kernel
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError

X = jnp.arange(3.0)


def like(x):
    return x


def size(x):
    return x.size


@cuda.jit
def outer(x, y, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = x[i] * y[j]


def of_both(x, y):
    return jax.ShapeDtypeStruct((x.size, y.size), x.dtype)


def extents(x, y):
    return x.size, y.size


outer_of_any = numba_cuda_kernel(outer, of_both, launch_dims=extents)


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
@pytest.mark.parametrize("shape", [(3, 4), (40, 1), (0, 2)])
def test_one_wrapper_serves_every_shape_and_dtype(gpu, shape, dtype):
    x, y = (jnp.arange(n).astype(dtype) for n in shape)
    found = outer_of_any(x, y)
    assert (found.shape, found.dtype) == (shape, dtype)
    np.testing.assert_array_equal(found, np.outer(x, y))
    assert jax.eval_shape(outer_of_any, x, y) == jax.ShapeDtypeStruct(shape, dtype)


@pytest.mark.slow
def test_functions_see_no_batch_axes(gpu):
    xs, ys, before = jnp.arange(10.0).reshape(5, 2), jnp.arange(12.0).reshape(4, 3), len(gpu.launches)
    nested = jax.vmap(jax.vmap(outer_of_any, (0, None)), (None, 0))
    np.testing.assert_array_equal(nested(xs, ys), jnp.einsum("bi,cj->cbij", xs, ys))
    assert [launch.grid for launch in gpu.launches[before:]] == [(1, 1, 20)]


def test_grid_block_and_shared_memory_follow(gpu):
    @cuda.jit
    def reversed_block(x, y):
        shared = cuda.shared.array(0, types.float32)
        t = cuda.threadIdx.x
        shared[t] = x[t]
        cuda.syncthreads()
        y[t] = shared[shared.size - 1 - t]

    options = {"grid": 1, "block": size, "shared_mem": lambda x: 4 * x.size}
    call = numba_cuda_kernel(reversed_block, like, **options)
    for n in (8, 40):
        x, before = jnp.arange(n, dtype="float32"), len(gpu.launches)
        np.testing.assert_array_equal(call(x), x[::-1])
        (launch,) = gpu.launches[before:]
        assert (launch.grid, launch.block, launch.shared) == ((1, 1, 1), (n, 1, 1), 4 * n)


def test_where_the_kernel_sees_the_batch_so_does_the_launch(gpu):
    @cuda.jit
    def twice(x, y):
        i = cuda.grid(1)
        if i < y.size:
            y.flat[i] = 2 * x.flat[i]

    call = numba_cuda_kernel(twice, like, launch_dims=size, vmap_method="broadcast_all")
    rows, before = jnp.arange(1500.0).reshape(3, 500), len(gpu.launches)
    np.testing.assert_array_equal(jax.vmap(call)(rows), 2 * rows)
    assert [launch.grid[0] for launch in gpu.launches[before:]] == [6]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"outs": lambda x, y: 3}, "its outs, the function .*<lambda>, returned 3: outs holds 3; expected"),
        ({"outs": lambda x: x}, r"its outs, .* raised TypeError for \(float32\[3\], float32\[3\]\)"),
        ({"launch_dims": lambda x, y: x.shape[2]}, "its launch_dims, .* raised IndexError for"),
        ({"launch_dims": lambda x, y: 1.5}, "'outer': launch_dims=1.5; expected one to three integers >= 0"),
        (
            {"launch_dims": None, "grid": lambda x, y: 1, "block": lambda x, y: (32, 33)},
            r"'outer': a block of \(32, 33, 1\)",
        ),
    ],
)
def test_errors_name_the_function_and_what_it_did(gpu, options, text):
    given = {"outs": of_both, "launch_dims": extents} | options
    with pytest.raises(KernelDefinitionError, match=text):
        numba_cuda_kernel(outer, **given)(X, X)


def test_definitions_with_functions_are_checked_as_far_as_they_are_known():
    with pytest.raises(KernelDefinitionError, match="either grid and block, or launch_dims"):
        numba_cuda_kernel(outer, of_both, grid=extents)
    with pytest.raises(KernelDefinitionError, match="block=0; expected one to three integers >= 1"):
        numba_cuda_kernel(outer, of_both, grid=1, block=0)


def test_symbolic_sizes_are_refused_as_ever(gpu):
    (n,) = export.symbolic_shape("n")
    x = jax.ShapeDtypeStruct((n,), "float32")
    with pytest.raises(KernelTypeError, match=r"'x' has the symbolic shape .* compiled for its sizes"):
        jax.eval_shape(outer_of_any, x, x)


def test_functions_are_pickled_with_it(gpu):
    again = pickle.loads(pickle.dumps(outer_of_any))
    np.testing.assert_array_equal(again(X, X[:2]), np.outer(X, X[:2]))


def test_a_launch_with_effects_is_kept(gpu):
    def launches(**options):
        call = numba_cuda_kernel(outer, of_both, launch_dims=extents, **options)
        program = jax.jit(lambda x: (call(x, x), x)[1])
        before = len(gpu.launches)
        jax.block_until_ready(program(X))
        return len(gpu.launches) - before

    assert (launches(), launches(has_side_effect=True)) == (0, 1)
