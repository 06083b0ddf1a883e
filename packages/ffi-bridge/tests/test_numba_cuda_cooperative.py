"""Cooperative launches: all blocks run at once, as many as fit, and more are refused."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
pytest.importorskip("ptx_on_cpu", reason="ptx-on-cpu is not installed")

from cooperative_kernels import others, others_by_counter
from cuda_kernels import out
from numba import cuda

from ffi_bridge import numba_cuda_callable, numba_cuda_kernel
from ffi_bridge.cuda.cubin import Cubin
from ffi_bridge.cuda.driver import cuda_driver
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ptx_on_cpu import Checks, LaunchError

pytestmark = pytest.mark.usefixtures("gpu")

N, MOST = 100, 64  # elements, blocks that there is room for
OUTS = out(MOST), out(N), out(1, dtype=jnp.int32)


@pytest.fixture
def x():
    return jnp.arange(N, dtype=jnp.float32)


def wrapped(**options):
    return numba_cuda_kernel(others, OUTS, cooperative=True, **({"block": 128} | options))


def test_without_a_grid_all_blocks_that_fit_run_at_once(gpu, x):
    _, y, blocks = jax.jit(wrapped())(x)
    np.testing.assert_array_equal(y, x.sum() - x)
    most = gpu.multiprocessors * 2048 // 128  # threads of a multiprocessor, of a block
    assert (int(blocks[0]), gpu.launches[-1].grid, gpu.launches[-1].cooperative) == (most, (most, 1, 1), True)


def test_shared_memory_leaves_room_for_fewer_blocks(gpu, x):
    assert int(wrapped(shared_mem=100 << 10)(x)[2][0]) == 2 * gpu.multiprocessors


@pytest.mark.parametrize("grid", [1, 3, (2, 2)])
def test_with_a_grid_its_blocks_run_at_once(gpu, x, grid):
    np.testing.assert_array_equal(wrapped(grid=grid)(x)[1], x.sum() - x)
    assert gpu.launches[-1].cooperative


def test_the_number_of_multiprocessors_is_a_grid(gpu, x):
    grid = cuda_driver().multiprocessors
    assert int(wrapped(grid=grid)(x)[2][0]) == grid == gpu.multiprocessors


def test_a_grid_that_does_not_fit_is_refused_with_the_number_that_does(x):
    said = r"kernel 'others': a cooperative launch of 33 blocks, grid \(33, 1, 1\); all have to run at once"
    with pytest.raises(
        KernelDefinitionError, match=said + r", and 32 do on this GPU.*leave out grid, for 32"
    ):
        wrapped(grid=33)(x)
    with pytest.raises(KernelDefinitionError, match="a cooperative launch of 256 blocks"):
        wrapped(block=None, launch_dims=1 << 16)(x)


def test_the_name_that_an_exported_program_has_tells_no_number_of_blocks(gpu, x, monkeypatch):
    def target():
        return re.search(r"others\.numba_cuda\.[0-9a-f]{32}", jax.jit(wrapped()).lower(x).as_text())[0]

    first = target()
    monkeypatch.setattr(gpu, "multiprocessors", 3)
    assert target() == first
    # Where it is read, on another GPU, a launch of this name is built by what fits there.
    with pytest.raises(KernelDefinitionError, match="and 48 do on this GPU"):
        wrapped(grid=49)(x)


def test_a_block_that_does_not_fit_is_refused():
    @cuda.jit
    def wide(x, y):
        shared = cuda.shared.array(10_000, np.float32)
        shared[cuda.threadIdx.x] = x[0]
        y[cuda.threadIdx.x] = shared[0]

    f = numba_cuda_kernel(wide, out(N), block=128, shared_mem=220 << 10, cooperative=True)
    with pytest.raises(KernelDefinitionError, match="not one block of it fits on a multiprocessor"):
        f(jnp.ones(1))


def test_a_kernel_that_synchronises_the_grid_is_refused_in_another_launch(x):
    said = r"'others' synchronises its whole grid.*give numba_cuda_kernel\(\.\.\., cooperative=True\)"
    with pytest.raises(KernelTypeError, match=said):
        numba_cuda_kernel(others, OUTS, grid=1, block=32)(x)

    def launches(x, shares, y, blocks, stream):
        others[1, 32, stream](x, shares, y, blocks)

    with pytest.raises(KernelTypeError, match=said):
        numba_cuda_callable(launches, OUTS)(x)


def test_a_function_in_python_launches_it_cooperatively_as_numba_does(gpu, launch):
    @cuda.jit
    def turns(seen, found):
        seen[cuda.blockIdx.x] = cuda.blockIdx.x
        cuda.cg.this_grid().sync()
        found[cuda.blockIdx.x] = seen[(cuda.blockIdx.x + 1) % cuda.gridDim.x]

    seen, found = np.zeros(500, np.int32), np.zeros(500, np.int32)
    launch(turns, seen, found, grid=(5, 1, 1), block=(32, 1, 1))
    assert list(found[:6]) == [1, 2, 3, 4, 0, 0]
    with pytest.raises(LaunchError, match="a cooperative launch of 500 blocks"):
        launch(turns, seen, found, grid=(500, 1, 1), block=(32, 1, 1))


def test_grid_may_be_left_out_of_cooperative_launches_alone():
    with pytest.raises(KernelDefinitionError, match="grid may be left out with cooperative=True"):
        numba_cuda_kernel(others, OUTS, block=32)
    with pytest.raises(KernelDefinitionError, match="give either grid and block, or launch_dims"):
        wrapped(block=None)
    with pytest.raises(KernelDefinitionError, match="give either grid and block, or launch_dims"):
        wrapped(launch_dims=100)


def test_a_batch_is_a_launch_for_each_element(gpu, x):
    before, rows = len(gpu.launches), jnp.stack([x, x + 1, 2 * x])
    np.testing.assert_array_equal(jax.vmap(wrapped())(rows)[1], rows.sum(1, keepdims=True) - rows)
    assert [launch.grid[2] for launch in gpu.launches[before:]] == [1, 1, 1]


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_barrier_of_atomics_is_checked_for_races(gpu, x, seed, monkeypatch):
    monkeypatch.setattr(gpu, "checks", Checks(initialised=True, races=True))
    monkeypatch.setattr(gpu, "seed", seed)
    outs, aliases = (out(1, dtype=jnp.int32), *OUTS), {1: 0}
    f = numba_cuda_kernel(others_by_counter, outs, block=512, cooperative=True, input_output_aliases=aliases)
    arrived, _, y, blocks = f(x, jnp.zeros(1, jnp.int32))
    np.testing.assert_array_equal(y, x.sum() - x)
    assert int(arrived[0]) == int(blocks[0]) == gpu.launches[-1].grid[0]


def test_the_driver_counts_registers_and_static_shared_memory(gpu, x):
    wrapped(grid=1)(x)
    cubin = gpu.loaded[-1]
    blocks = [gpu.max_cooperative_grid_blocks(cubin, threads, 0) for threads in (32, 256, 1024)]
    assert blocks == [32 * gpu.multiprocessors, 8 * gpu.multiprocessors, 2 * gpu.multiprocessors]
    by_ptx = Cubin(b"", cubin.entry, cubin.kernel, (), cubin.ptx)
    assert gpu.max_cooperative_grid_blocks(by_ptx, 1024, 0) == 2 * gpu.multiprocessors
