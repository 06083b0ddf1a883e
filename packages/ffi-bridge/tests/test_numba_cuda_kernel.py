"""`numba_cuda_kernel`, end to end: compiled for a GPU, launched by the native handler on an emulated one."""

import os
import sys

import child_python
import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

import cuda_kernels as kernels
from cubin import parameters_of
from cuda_kernels import out, wrapped_add
from numba import cuda

from ffi_bridge import numba_cuda_kernel
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.numba_cuda import entry as numba_cuda_entry

pytestmark = pytest.mark.usefixtures("gpu")

F32 = jnp.float32


@pytest.fixture
def x():
    return jnp.arange(10, dtype=F32)


def test_eager_and_jitted(x):
    f = wrapped_add(10)
    np.testing.assert_array_equal(f(x, x), 2 * x)
    np.testing.assert_array_equal(jax.jit(lambda x: f(x, f(x, x)) + 1)(x), 3 * x + 1)


def test_the_launch_is_as_asked(gpu, x):
    before = len(gpu.launches)
    wrapped_add(10, launch_dims=None, grid=3, block=(4, 2), shared_mem=64)(x, x).block_until_ready()
    (launched,) = gpu.launches[before:]
    assert (launched.kernel, launched.shapes) == ("add", ((10,),) * 3)
    assert (launched.grid, launched.block, launched.shared) == ((3, 1, 1), (4, 2, 1), 64)


def test_several_outputs_in_a_pytree(x):
    f = numba_cuda_kernel(kernels.split, {"down": out(10), "up": out(10)}, launch_dims=10)
    found = f(x - 5)
    np.testing.assert_array_equal(found["down"], jnp.maximum(x - 5, 0))  # leaves are in the order of keys
    np.testing.assert_array_equal(found["up"], jnp.minimum(x - 5, 0))


def test_two_and_three_dimensions(x):
    f = numba_cuda_kernel(kernels.outer, out(10, 3), launch_dims=(10, 3))
    np.testing.assert_array_equal(f(x, x[:3]), np.outer(x, x[:3]))
    g = numba_cuda_kernel(kernels.number, out(3, 2, 5), launch_dims=(3, 2, 5))
    i, j, k = np.indices((3, 2, 5))
    np.testing.assert_array_equal(g(), 100 * i + 10 * j + k)


def test_a_number_is_a_0d_array(x):
    f = numba_cuda_kernel(kernels.scale, out(10), launch_dims=10)
    np.testing.assert_array_equal(f(x, F32(3)), 3 * x)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int8, np.uint16, np.complex64])
def test_dtypes(dtype):
    v = jnp.asarray(np.arange(7).astype(dtype))
    f = numba_cuda_kernel(kernels.add, out(7, dtype=dtype), launch_dims=7)
    np.testing.assert_array_equal(f(v, v), v + v)


def test_options_and_device_functions():
    f = numba_cuda_kernel(kernels.norm, out(2), launch_dims=2)
    np.testing.assert_allclose(f(jnp.array([3.0, 5.0]), jnp.array([4.0, 12.0])), [5, 13])


def test_shared_memory_and_barriers():
    v = jnp.arange(100, dtype=F32)
    f = numba_cuda_kernel(kernels.block_sum, out(2), grid=2, block=kernels.BLOCK)
    np.testing.assert_array_equal(f(v), [np.arange(64).sum(), np.arange(64, 100).sum()])
    g = numba_cuda_kernel(kernels.reversed_block, out(8), grid=1, block=8, shared_mem=32)
    np.testing.assert_array_equal(g(v[:8]), v[:8][::-1])


@pytest.mark.slow
def test_warps_and_atomics():
    v = jnp.arange(64, dtype=F32)
    f = numba_cuda_kernel(kernels.warp_sum, out(2), grid=1, block=64)
    np.testing.assert_array_equal(f(v), [np.arange(32).sum(), np.arange(32, 64).sum()])
    flags, none = jnp.asarray(np.arange(70) % 3 == 0), jnp.zeros(1, jnp.int32)
    outs = (out(70, dtype=jnp.int32), out(1, dtype=jnp.int32))
    compact = numba_cuda_kernel(kernels.compact, outs, grid=3, block=32, input_output_aliases={1: 1})
    ids, count = compact(flags, none)
    np.testing.assert_array_equal(ids[: int(count[0])], np.flatnonzero(flags))
    histogram = numba_cuda_kernel(
        kernels.histogram, out(4, dtype=jnp.int32), launch_dims=6, input_output_aliases={1: 0}
    )
    places = jnp.array([0, 3, 3, 1, 3, 0], jnp.int32)
    np.testing.assert_array_equal(histogram(places, jnp.zeros(4, jnp.int32)), [2, 1, 0, 3])


def test_an_alias_is_updated_in_place_and_the_input_survives():
    f = numba_cuda_kernel(
        kernels.count_up, out(5, dtype=jnp.int32), launch_dims=5, input_output_aliases={0: 0}
    )
    before = jnp.arange(5, dtype=jnp.int32)
    np.testing.assert_array_equal(f(before), before + 1)
    np.testing.assert_array_equal(before, np.arange(5))
    np.testing.assert_array_equal(jax.lax.fori_loop(0, 7, lambda _, n: f(n), before), before + 7)


@pytest.mark.parametrize("size", [0, 1])
def test_an_empty_launch_gives_empty_outputs(gpu, size):
    before = len(gpu.launches)
    assert wrapped_add(size)(jnp.ones(size), jnp.ones(size)).shape == (size,)
    assert len(gpu.launches) - before == size


def test_vmap_is_one_launch(gpu, x):
    f = wrapped_add(10)
    rows = jnp.stack([x, x + 1, x * 2])
    before = len(gpu.launches)
    np.testing.assert_array_equal(jax.vmap(f, (0, None))(rows, x), rows + x[None])
    (launched,) = gpu.launches[before:]
    assert (launched.grid[2], launched.shapes) == (3, ((3, 10), (10,), (3, 10)))


def test_nested_vmap_is_one_launch(gpu, x):
    f = jax.vmap(jax.vmap(wrapped_add(10), (0, None)), (None, 1))
    rows, columns = jnp.stack([x, x + 1, x * 2]), jnp.stack([x, x - 1], axis=1)
    before = len(gpu.launches)
    np.testing.assert_array_equal(f(rows, columns), columns.T[:, None] + rows[None])
    assert [launched.grid[2] for launched in gpu.launches[before:]] == [6]


def test_vmap_over_numbers(x):
    f = numba_cuda_kernel(kernels.scale, out(10), launch_dims=10)
    factors = jnp.array([2.0, 3.0])
    np.testing.assert_array_equal(jax.vmap(f, (None, 0))(x, factors), factors[:, None] * x[None])


@pytest.mark.slow
def test_vmap_of_a_kernel_that_uses_the_third_axis_is_a_loop(gpu):
    @cuda.jit
    def moved(x, out):
        i, j, k = cuda.grid(3)
        if i < out.shape[0] and j < out.shape[1] and k < out.shape[2]:
            out[i, j, k] = x[k]

    f = numba_cuda_kernel(moved, out(2, 2, 3), launch_dims=(2, 2, 3))
    v, before = jnp.arange(6, dtype=F32).reshape(2, 3), len(gpu.launches)
    np.testing.assert_array_equal(jax.vmap(f)(v), np.broadcast_to(v[:, None, None], (2, 2, 2, 3)))
    assert len(gpu.launches) - before == 2


@pytest.mark.slow
def test_a_block_that_takes_several_elements_waits_between_them(gpu, monkeypatch):
    monkeypatch.setattr(numba_cuda_entry, "MAX_GRID", (2**31 - 1, 65535, 2))
    rows = jnp.arange(7 * 8, dtype=jnp.float32).reshape(7, 8)
    f = numba_cuda_kernel(kernels.reversed_block, out(8), grid=1, block=8, shared_mem=32)
    np.testing.assert_array_equal(jax.vmap(f)(rows), rows[:, ::-1])
    assert gpu.launches[-1].grid == (1, 1, 2)


def test_vmap_of_an_alias():
    f = numba_cuda_kernel(
        kernels.count_up, out(5, dtype=jnp.int32), launch_dims=5, input_output_aliases={0: 0}
    )
    before = jnp.arange(10, dtype=jnp.int32).reshape(2, 5)
    np.testing.assert_array_equal(jax.vmap(f)(before), before + 1)


@pytest.mark.slow
def test_other_vmap_methods(gpu, x):
    rows, before = jnp.stack([x, x + 1]), len(gpu.launches)
    for launches, method in ((2, "sequential"), (4, "sequential_unrolled")):
        f = wrapped_add(10, vmap_method=method)
        np.testing.assert_array_equal(jax.vmap(f, (0, None))(rows, x), rows + x[None])
        assert len(gpu.launches) - before == launches

    @cuda.jit
    def add_flat(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out.flat[i] = x.flat[i] + y.flat[i]

    g = numba_cuda_kernel(add_flat, out(10), launch_dims=20, vmap_method="broadcast_all")
    np.testing.assert_array_equal(jax.vmap(g, (0, None))(rows, x), rows + x[None])


@pytest.mark.slow
def test_in_scan_and_remat(x):
    f = wrapped_add(10)
    total, _ = jax.lax.scan(lambda carry, v: (f(carry, v), None), x, jnp.stack([x] * 5))
    np.testing.assert_array_equal(total, 6 * x)
    np.testing.assert_array_equal(jax.checkpoint(lambda x: f(x, x))(x), 2 * x)


def test_equal_kernels_share_a_target_and_others_do_not(x):
    def made(factor):
        @cuda.jit
        def times(x, out):
            i = cuda.grid(1)
            if i < out.size:
                out[i] = factor * x[i]

        return numba_cuda_kernel(times, out(10), launch_dims=10)

    np.testing.assert_array_equal(made(2)(x), 2 * x)
    np.testing.assert_array_equal(made(3)(x), 3 * x)
    np.testing.assert_array_equal(made(2)(x), 2 * x)


@pytest.mark.parametrize(
    ("kernel", "ins", "message"),
    [
        ("writes_input", 1, "writes into its input 'x'; inputs are read-only"),
        ("adds_to_input", 1, "'adds_to_input' does not compile for"),
        ("writes_in_a_tuple", 1, "has its input 'x' where Numba expects an array that it may write to"),
        ("gives_the_name_away", 1, r"never stores to its output 'out'.* write `out\[:\] = \.\.\.`"),
        ("misspelt", 1, "'misspelt' does not compile for"),
        ("whole_grid", 1, "synchronises its whole grid"),
        ("add", 1, r"takes 3 arguments \(x, y, out\), but the call has 1 inputs"),
    ],
)
def test_a_kernel_that_cannot_serve_is_refused_when_traced(x, kernel, ins, message):
    f = numba_cuda_kernel(getattr(kernels, kernel), out(10), launch_dims=10)
    with pytest.raises(KernelTypeError, match=message):
        jax.make_jaxpr(f)(*[x] * ins)


def test_numbers_taken_for_what_they_are_in_python():
    f = numba_cuda_kernel(kernels.counts, out(10), launch_dims=1)
    with pytest.raises(KernelTypeError, match=r"read and write it as `n\[\(\)\]`\n"):
        jax.make_jaxpr(f)(3)


@pytest.mark.parametrize("options", [{"outs": out(0)}, {"outs": out(10), "input_output_aliases": {0: 0}}])
def test_an_output_may_stay_as_it_is_where_it_is_empty_or_begins_as_an_input(x, options):
    jax.make_jaxpr(numba_cuda_kernel(kernels.gives_the_name_away, launch_dims=1, **options))(x)


def test_a_dtype_that_kernels_lack_is_named(x):
    with pytest.raises(KernelTypeError, match="argument 'x' has dtype bfloat16"):
        wrapped_add(10)(x.astype(jnp.bfloat16), x)


@pytest.mark.parametrize("kernel", [lambda x, out: None, kernels.square, 5])
def test_what_is_no_kernel_is_refused(kernel):
    with pytest.raises(TypeError, match=r"decorate the function with @numba\.cuda\.jit"):
        numba_cuda_kernel(kernel, out(4), launch_dims=4)


def test_bad_definitions_are_refused():
    with pytest.raises(KernelDefinitionError, match="either grid and block"):
        numba_cuda_kernel(kernels.add, out(4))
    with pytest.raises(
        KernelDefinitionError, match="vmap_method='loop' is not known for a numba-cuda kernel"
    ):
        wrapped_add(4, vmap_method="loop")
    with pytest.raises(KernelDefinitionError, match="input_output_aliases has 0: 3"):
        wrapped_add(4, input_output_aliases={0: 3})


def test_a_failed_launch_is_an_error_with_the_kernels_name(x):
    f = numba_cuda_kernel(kernels.beyond, out(10), grid=1, block=1)
    with pytest.raises(
        jax.errors.JaxRuntimeError, match="kernel 'beyond': cuLaunchKernel failed with CUDA_ERROR"
    ):
        f(x).block_until_ready()
    np.testing.assert_array_equal(wrapped_add(10)(x, x), 2 * x)


def test_without_a_gpu_the_error_says_so():
    script = (
        "import jax, jax.numpy as jnp, cuda_kernels, ffi_bridge\n"
        "f = ffi_bridge.numba_cuda_kernel("
        "cuda_kernels.add, jax.ShapeDtypeStruct((4,), jnp.float32), launch_dims=4)\n"
        "f(jnp.ones(4), jnp.ones(4))\n"
    )
    path = os.pathsep.join(filter(None, sys.path))
    done = child_python.run("-c", script, CUDA_VISIBLE_DEVICES="", PYTHONPATH=path)
    assert done.returncode == 1
    assert "BackendUnavailableError: a CUDA kernel needs an NVIDIA GPU" in done.stderr


def test_the_machine_code_takes_what_the_handler_packs(gpu):
    wrapped_add(11)(jnp.ones(11), jnp.ones(11)).block_until_ready()
    cubin = gpu.loaded[-1]
    # meminfo, parent, size, itemsize, address, one extent, one stride
    assert parameters_of(cubin.code, cubin.entry) == [(8 * i, 8) for i in range(3 * 7)]
