"""Launches of CUDA kernels have as many dimensions as `cuda.grid` and `cuda.gridsize` are asked for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from numba import cuda

from ffi_bridge import numba_cuda_kernel
from ffi_bridge.errors import KernelDefinitionError

AXES = 2
M = jnp.arange(12, dtype=jnp.float32).reshape(3, 4)


def like(x):
    return x


@cuda.jit
def of_one(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        for j in range(x.shape[1]):
            out[i, j] = x[i, j]


@cuda.jit
def of_both(x, out):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        out[i, j] = x[i, j]


@cuda.jit
def striding(x, out):
    first, step = cuda.grid(1), cuda.gridsize(1)
    for i in range(first, x.shape[0], step):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j]


@cuda.jit
def by_itself(x, out):
    i = cuda.grid(1)
    j = cuda.threadIdx.y + cuda.blockIdx.y * cuda.blockDim.y
    if i < x.shape[0] and j < x.shape[1]:
        out[i, j] = x[i, j]


@cuda.jit(device=True)
def place():
    return cuda.grid(AXES)


@cuda.jit
def of_callee(x, out):
    i, j = place()
    if i < x.shape[0] and j < x.shape[1]:
        out[i, j] = x[i, j]


@cuda.jit
def without(x, out):
    out[cuda.threadIdx.x, cuda.blockIdx.x] = x[cuda.threadIdx.x, cuda.blockIdx.x]


GIVEN = {"grid": 4, "block": 3}


@pytest.mark.parametrize(
    ("kernel", "launch", "match"),
    [
        (of_one, {"launch_dims": (3, 4)}, "for 1 axis, and launch_dims has 2, and threads along the others"),
        (of_one, {"launch_dims": lambda x: x.shape}, "give launch_dims with 1, or ask for 2 in the kernel"),
        (of_both, {"launch_dims": 12}, "2 axes, and launch_dims has 1, so that the last 1 would always be 0"),
        (of_both, {"launch_dims": (3, 4, 1)}, "for 2 axes, and launch_dims has 3"),
        (of_both, GIVEN, "and grid with block has 1, so that the last 1 would always be 0"),
        (of_callee, {"launch_dims": 12}, "for 2 axes"),
        (striding, {"launch_dims": (3, 4)}, "for 1 axis"),
    ],
)
def test_other_numbers_of_dimensions(gpu, kernel, launch, match):
    with pytest.raises(KernelDefinitionError, match=match):
        numba_cuda_kernel(kernel, like, **launch)(M)


@pytest.mark.parametrize(
    ("kernel", "launch"),
    [
        (of_one, {"launch_dims": 3}),
        (of_one, {"grid": (1, 1), "block": (3, 1)}),
        (of_both, {"launch_dims": (3, 4)}),
        (of_both, {"grid": 3, "block": (1, 4)}),
        (of_callee, {"launch_dims": (3, 4)}),
        (striding, {"grid": 1, "block": 2}),
        (by_itself, {"launch_dims": (3, 4)}),
        (without, GIVEN),
    ],
)
def test_what_fits_is_launched(gpu, kernel, launch):
    f = numba_cuda_kernel(kernel, like, **launch)
    np.testing.assert_array_equal(f(M), M)


def test_a_batch_has_an_axis_more_than_its_kernel(gpu):
    f = numba_cuda_kernel(of_both, like, launch_dims=lambda x: x.shape)
    batch = jnp.stack([M, -M])
    np.testing.assert_array_equal(jax.vmap(f)(batch), batch)
