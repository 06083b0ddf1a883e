"""`numba_cuda_callable`: what a function launches is noted once, and replayed by a native handler."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

import cuda_kernels as kernels
from cuda_kernels import out, wrapped_add
from numba import cuda

from ffi_bridge import numba_cuda_callable, numba_cuda_kernel
from ffi_bridge.errors import PythonFallbackWarning

pytestmark = pytest.mark.usefixtures("gpu")

F32 = jnp.float32


@cuda.jit
def multiply(x, y, z):
    i = cuda.grid(1)
    if i < z.size:
        z[i] = x[i] * y[i]


@cuda.jit
def affine(x, a, b, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = a * x[i] + b


def cube(x, y, stream):
    square = cuda.device_array(x.shape, dtype=np.float32)
    blocks = (x.size + 31) // 32
    multiply[blocks, 32, stream](x, x, square)
    multiply[blocks, 32, stream](square, x, y)


@pytest.fixture
def x():
    return jnp.arange(10, dtype=F32)


def test_kernels_run_in_order_over_a_temporary(gpu, x):
    f, before = numba_cuda_callable(cube, out(10)), len(gpu.launches)
    np.testing.assert_array_equal(f(x), x**3)
    assert [launched.kernel for launched in gpu.launches[before:]] == ["multiply"] * 2
    np.testing.assert_array_equal(jax.jit(lambda x: f(f(x) + 1))(x), (x**3 + 1) ** 3)


def test_the_function_runs_once(x):
    runs = []

    def counted(x, y, stream):
        runs.append(x.shape)
        affine[1, 16, stream](x, 2.0, 1, y)

    f = numba_cuda_callable(counted, out(10))
    for _ in range(3):
        np.testing.assert_array_equal(f(x), 2 * x + 1)
    assert runs == [(10,)]


def test_numbers_keep_their_types(gpu, x):
    @cuda.jit
    def typed(x, flag, i8, i64, f32, f64, c64, y):
        i = cuda.grid(1)
        if i < y.size and flag:
            y[i] = x[i] + i8 + i64 + f32 + f64 + c64.real

    def function(x, y, stream):
        typed[1, 16, stream](x, True, np.int8(1), 2, np.float32(3), 4.0, np.complex64(5 + 1j), y)

    np.testing.assert_array_equal(numba_cuda_callable(function, out(10))(x), x + 15)


@pytest.mark.slow
def test_parts_of_arrays(x):
    def function(x, y, stream):
        first, rows = x[:4], x[2:].reshape(2, 4)
        affine[1, 4](first, 1.0, 0.0, y[0, ::2][:2])
        affine[1, 4](x[::-1][:2], 1.0, 0.0, y[1, 1:3])
        affine[1, 4](rows[1, 1:], 1.0, 0.0, y[..., 3])
        affine[1, 4](x[-3:-2], 10.0, 0.0, y[1:, 0])
        affine[1, 4](x[1:2], 100.0, 0.0, y.ravel()[1:2])

    found = np.asarray(numba_cuda_callable(function, out(2, 4))(x))
    expected = np.zeros((2, 4), np.float32)
    expected[0, [0, 2]], expected[1, 1:3], expected[:, 3] = [0, 1], [9, 8], [7, 8]
    expected[1, 0], expected[0, 1] = 70, 100
    np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
def test_several_outputs_forall_and_like(x):
    def function(x, y, z, stream):
        like = cuda.device_array_like(x)
        affine.forall(x.size, stream=stream)(x, 2.0, 0.0, like)
        affine.forall(len(x), tpb=4, stream=stream)(like, 1.0, 1.0, y)
        affine[1, 16, stream](like, 1.0, 2.0, z)
        stream.synchronize()
        cuda.synchronize()

    y, z = numba_cuda_callable(function, [out(10), out(10)])(x)
    np.testing.assert_array_equal(y, 2 * x + 1)
    np.testing.assert_array_equal(z, 2 * x + 2)


def test_a_kernel_that_takes_nothing(gpu, x):
    @cuda.jit
    def idle():
        cuda.syncthreads()

    def function(x, y, stream):
        idle[2, 4, stream]()
        affine[1, 16, stream](x, 2.0, 0.0, y)

    before = len(gpu.launches)
    np.testing.assert_array_equal(numba_cuda_callable(function, out(10))(x), 2 * x)
    assert [launched.kernel for launched in gpu.launches[before:]] == ["idle", "affine"]


@pytest.mark.slow
def test_shared_memory_of_a_launch():
    def function(x, y, stream):
        kernels.reversed_block[1, 8, stream, 32](x, y)

    v = jnp.arange(8, dtype=F32)
    np.testing.assert_array_equal(numba_cuda_callable(function, out(8))(v), v[::-1])


@pytest.mark.slow
def test_vmap_is_one_launch_of_each_kernel(gpu, x):
    f, rows = numba_cuda_callable(cube, out(10)), jnp.stack([x, x + 1, x - 3])
    before = len(gpu.launches)
    np.testing.assert_array_equal(jax.vmap(f)(rows), rows**3)
    assert [launched.grid[2] for launched in gpu.launches[before:]] == [3, 3]


@pytest.mark.slow
def test_nested_vmap_of_parts(x):
    def function(x, y, out, stream):
        kernels.add[1, 8, stream](x[::2], y[1:6], out)

    f = jax.vmap(jax.vmap(numba_cuda_callable(function, out(5)), (None, 0)), (0, None))
    xs, ys = jnp.stack([x, x + 1, x * 2]), jnp.stack([x, x - 1])
    np.testing.assert_array_equal(f(xs, ys), xs[:, None, ::2] + ys[None, :, 1:6])


@pytest.mark.slow
def test_sequential_vmap(gpu, x):
    f = numba_cuda_callable(cube, out(10), vmap_method="sequential")
    rows, before = jnp.stack([x, x + 1]), len(gpu.launches)
    np.testing.assert_array_equal(jax.vmap(f)(rows), rows**3)
    assert len(gpu.launches) - before == 4


@pytest.mark.slow
def test_an_alias(x):
    def function(before, after, stream):
        kernels.count_up[1, 16, stream](before, after)

    f = numba_cuda_callable(function, out(10), input_output_aliases={0: 0})
    np.testing.assert_array_equal(f(x), x + 1)
    np.testing.assert_array_equal(x, np.arange(10))


def reads(x, y, stream):
    affine[1, 16](x, x[3], 0.0, y)


def assigns(x, y, stream):
    y[:] = 3 * np.arange(10, dtype=np.float32)


def branches(x, y, stream):
    if x[3:4]:
        affine[1, 16, stream](x, 3.0, 0.0, y)


def fetches(x, y, stream):
    affine[1, 16](x, float(x.copy_to_host()[3]), 0.0, y)


def converts(x, y, stream):
    affine[1, 16](x, np.asarray(x)[3], 0.0, y)


def uploads(x, y, stream):
    affine[1, 16](cuda.to_device(np.arange(10)), 3.0, 0.0, y)


def asks_for_more(x, y, stream):
    y[:] = x.sum() / 15 * x


def does_nothing(x, y, stream):
    stream.synchronize()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (reads, "it reads element 3 of a device array"),
        (assigns, "it reads or writes a device array outside of a kernel"),
        (branches, "it reads or writes a device array outside of a kernel"),
        (fetches, "it reads or writes a device array outside of a kernel"),
        (converts, "it reads or writes a device array outside of a kernel"),
        (uploads, r"it calls cuda\.to_device"),
        (asks_for_more, r"it uses \.sum of a device array"),
    ],
)
def test_what_cannot_be_recorded_runs_in_python_and_says_so(x, function, message):
    f = numba_cuda_callable(function, out(10))
    with pytest.warns(
        PythonFallbackWarning, match=f"'{function.__name__}' cannot be recorded: {message}; it is run"
    ):
        found = f(x)
    np.testing.assert_array_equal(found, 3 * x)
    np.testing.assert_array_equal(jax.jit(f)(x + 0), 3 * x)
    np.testing.assert_array_equal(numba_cuda_callable(cube, out(10))(x), x**3)  # numba-cuda is as it was


def test_a_batch_runs_in_python_element_by_element(x):
    def function(x, y, factor, out, stream):
        affine[1, 16, stream](x, float(factor.copy_to_host()), 0.0, out)

    f = numba_cuda_callable(function, out(10))
    with pytest.warns(PythonFallbackWarning):
        found = jax.vmap(jax.vmap(f, (0, None, None)), (None, None, 0))(
            jnp.stack([x, x + 1]), x, jnp.array([2.0, 3.0, 4.0])
        )
    expected = np.array([2, 3, 4])[:, None, None] * np.stack([x, x + 1])
    np.testing.assert_array_equal(found, expected)


def test_an_exception_of_the_function_is_an_error_of_the_call(x):
    def function(x, y, stream):
        raise ValueError(f"found {x[0]}")

    f = numba_cuda_callable(function, out(10))
    with (
        pytest.warns(PythonFallbackWarning),
        pytest.raises(jax.errors.JaxRuntimeError, match=r"'function' raised ValueError: found 0\.0"),
    ):
        f(x).block_until_ready()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, y, s: affine[1, 16](x, [1.0], 0.0, y), "it passes list to a kernel"),
        (lambda x, y, s: cuda.device_array((2, 2), order="F"), "only C-contiguous ones are known"),
        (
            lambda x, y, s: affine[1, 16](x[3, 4], 1.0, 0.0, y),
            r"it takes \[\(3, 4\)\] of a device array of shape \(10,\)",
        ),
        (does_nothing, "it launches no kernel"),
    ],
)
def test_other_obstacles_are_named(x, function, message):
    with pytest.warns(PythonFallbackWarning, match=message):
        jax.make_jaxpr(numba_cuda_callable(function, out(10)))(x)


@pytest.mark.parametrize("function", [kernels.add, 7])
def test_what_is_no_function_is_refused(function):
    with pytest.raises(TypeError, match="needs a Python function that launches kernels"):
        numba_cuda_callable(function, out(10))


@pytest.mark.slow
def test_without_jit(x):
    with jax.disable_jit():
        np.testing.assert_array_equal(numba_cuda_callable(cube, out(10))(x), x**3)
        np.testing.assert_array_equal(wrapped_add(10)(x, x), 2 * x)


@pytest.mark.slow
def test_a_callable_and_a_kernel_agree(x):
    def function(x, y, z, stream):
        kernels.add[2, 5, stream](x, y, z)

    kernel = numba_cuda_kernel(kernels.add, out(10), launch_dims=10)
    np.testing.assert_array_equal(numba_cuda_callable(function, out(10))(x, x), kernel(x, x))
