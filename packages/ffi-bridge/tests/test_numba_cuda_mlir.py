"""Kernels of numba-cuda-mlir: compiled by it, launched as those of numba-cuda, and both in one program."""

import struct

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cubin import parameters_of
from frames import STREAM, Call
from recording_driver import RecordingDriver

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
pytest.importorskip("numba_cuda_mlir", reason="numba-cuda-mlir is not installed")

import cuda_kernels
from cuda_kernels import out, wrapped_add
from mlir_kernels import (
    BLOCK,
    add,
    affine,
    block_sum,
    histogram,
    misspelt,
    moved,
    norm,
    scale,
    square,
    total,
    whole_grid,
    writes_input,
)
from numba_cuda_mlir import cuda

from ffi_bridge import numba_cuda_callable, numba_cuda_kernel
from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.cuda.program import emit_handler
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError, PythonFallbackWarning
from ffi_bridge.native.buffers import BufferSpec
from ffi_bridge.numba_cuda.call import NumbaHost
from ffi_bridge.numba_cuda.compile import compile_kernel
from ffi_bridge.numba_cuda.program import KernelLaunch, View, program_of
from ffi_bridge.numba_cuda.toolchain import ArrayType

F32 = jnp.float32
SINGLE = np.dtype(np.float32)
ELF_FLAGS = slice(0x30, 0x34)  # of a cubin; one of them is the number of its architecture


@pytest.fixture
def x():
    return jnp.arange(10, dtype=F32)


def launched(kernel, arguments, sizes=(), block=32):
    """What the driver is given for float32 arrays, the last of which is an output: launches, arrays."""
    driver = RecordingDriver()
    levels = len(sizes)
    buffers = [
        BufferSpec(f"b{i}", SINGLE, x.shape[levels:], (True,) * levels) for i, x in enumerate(arguments)
    ]
    views = tuple(View.whole(i, spec) for i, spec in enumerate(buffers))
    launch = KernelLaunch(kernel, LaunchExtents.of(2, block, None, 1, 64), views)
    inputs = len(arguments) - 1
    program = program_of(driver, [launch], buffers, inputs, (), sizes)
    code = emit_handler("tested", program, driver.functions())
    assert Call(arguments[:-1], arguments[-1:]).run(code.address) is None
    return driver


def memref(array):
    """An array as MLIR describes it: address twice, offset, shape, strides in elements."""
    address, strides = array.ctypes.data, (stride // array.itemsize for stride in array.strides)
    return [struct.pack("<q", word) for word in (address, address, 0, *array.shape, *strides)]


def test_a_launch_has_the_parameters_that_the_machine_code_expects():
    arguments = [np.ones((3, 5), np.float32), np.ones((), np.float32), np.zeros((2, 2, 2), np.float32)]

    @cuda.jit
    def kernel(x, factor, out):
        out[0, 0, 0] = factor[()] * x[1, 2]

    driver = launched(kernel, arguments)
    ((number, extents, stream, parameters),) = driver.calls
    assert (number, extents, stream) == (1, (2, 1, 1, 32, 1, 1, 64), STREAM)
    assert parameters == [word for x in arguments for word in memref(x)]


def test_the_elements_of_a_batch_are_along_the_third_axis():
    arguments = [np.ones((3, 4, 5), np.float32) for _ in range(3)]
    driver = launched(add, arguments, (3, 4))
    ((_, extents, _, parameters),) = driver.calls
    assert extents[:3] == (2, 1, 12)
    assert parameters == [word for x in arguments for word in memref(x)]


def test_a_batch_of_a_kernel_that_uses_the_third_axis_is_a_loop():
    arguments = [np.ones((3, 5), np.float32), np.zeros((3, 2, 2, 5), np.float32)]
    driver = launched(moved, arguments, (3,))
    expected = [[word for x in arguments for word in memref(x[i])] for i in range(3)]
    assert [parameters for *_, parameters in driver.calls] == expected


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint16, np.float16, np.float32, np.int64, np.complex128])
def test_a_number_takes_as_many_bytes_as_it_has(kind):
    @cuda.jit
    def kernel(number, out):
        out[()] = number

    cubin = compile_kernel(kernel, [np.dtype(kind), ArrayType(np.dtype(kind), 0, False)], (9, 0))
    sizes = [size for _, size in parameters_of(cubin.code, cubin.entry)]
    assert sizes == [np.dtype(kind).itemsize, 8, 8, 8]


@pytest.mark.parametrize("capability", [(7, 5), (9, 0), (10, 0)])
def test_machine_code_is_for_the_gpu_that_was_asked_for(capability):
    array = ArrayType(SINGLE, 1, False)
    cubin = compile_kernel(add, [array] * 3, capability)
    assert 10 * capability[0] + capability[1] in cubin.code[ELF_FLAGS]
    assert [size for _, size in parameters_of(cubin.code, cubin.entry)] == [8] * 15
    assert add.targetoptions["chip"] is None  # the kernel is as its user left it


def test_options_reach_the_compiler():
    arrays = [ArrayType(SINGLE, 1, False)] * 3
    plain = cuda.jit(norm.py_func)
    assert compile_kernel(norm, arrays, (9, 0)).code != compile_kernel(plain, arrays, (9, 0)).code


@pytest.mark.parametrize("error", [AssertionError, NotImplementedError])
def test_gaps_of_the_compiler_are_errors_of_the_kernel(monkeypatch, error):
    def compile(*_):
        raise error("not there yet")

    monkeypatch.setattr(type(add), "compile", compile)
    with pytest.raises(KernelTypeError, match=r"'add' does not compile for .*\n.*not there yet"):
        compile_kernel(add, [ArrayType(SINGLE, 1, False)] * 3, (8, 6))


def test_code_that_wants_a_callback_is_refused():
    source = cuda.PTXSource(b".version 8.0\n.target sm_75\n.address_size 64\n", setup_callback=print)
    linked = cuda.jit(link=[source])(add.py_func)
    with pytest.raises(KernelTypeError, match="'add' is to be set up by a callback when it is loaded"):
        compile_kernel(linked, [ArrayType(SINGLE, 1, False)] * 3, (9, 0))


def test_eager_jitted_and_beside_numba_cuda(gpu, x):
    f, g = numba_cuda_kernel(add, out(10), launch_dims=10), wrapped_add(10)
    np.testing.assert_array_equal(f(x, x), 2 * x)
    np.testing.assert_array_equal(jax.jit(lambda x: f(x, g(x, f(x, x))))(x), 4 * x)


@pytest.mark.slow
def test_numbers_options_and_device_functions(gpu, x):
    f = numba_cuda_kernel(scale, out(10), launch_dims=10)
    np.testing.assert_array_equal(f(x, F32(3)), 3 * x)
    g = numba_cuda_kernel(norm, out(2), launch_dims=2)
    np.testing.assert_allclose(g(jnp.array([3.0, 5.0]), jnp.array([4.0, 12.0])), [5, 13])


@pytest.mark.parametrize(
    "dtype",
    [
        np.bool_,
        *(pytest.param(x, marks=pytest.mark.slow) for x in (np.float16, np.int8, np.uint16, np.complex64)),
    ],
)
def test_dtypes(gpu, dtype):
    v = jnp.asarray(np.arange(7).astype(dtype))
    f = numba_cuda_kernel(add, out(7, dtype=dtype), launch_dims=7)
    np.testing.assert_array_equal(f(v, v), v + v)


def test_shared_memory_barriers_and_atomics(gpu):
    v = jnp.arange(100, dtype=F32)
    f = numba_cuda_kernel(block_sum, out(2), grid=2, block=BLOCK)
    np.testing.assert_array_equal(f(v), [np.arange(64).sum(), np.arange(64, 100).sum()])
    counts = numba_cuda_kernel(histogram, out(4, dtype=jnp.int32), launch_dims=6, input_output_aliases={1: 0})
    places = jnp.array([0, 3, 3, 1, 3, 0], jnp.int32)
    np.testing.assert_array_equal(counts(places, jnp.zeros(4, jnp.int32)), [2, 1, 0, 3])


def test_vmap_is_one_launch(gpu, x):
    f = jax.vmap(jax.vmap(numba_cuda_kernel(add, out(10), launch_dims=10), (0, None)), (None, 1))
    rows, columns = jnp.stack([x, x + 1, x * 2]), jnp.stack([x, x - 1], axis=1)
    before = len(gpu.launches)
    np.testing.assert_array_equal(f(rows, columns), columns.T[:, None] + rows[None])
    assert [launch.grid[2] for launch in gpu.launches[before:]] == [6]


@pytest.mark.slow
def test_vmap_over_numbers(gpu, x):
    f, factors = numba_cuda_kernel(scale, out(10), launch_dims=10), jnp.array([2.0, 3.0])
    np.testing.assert_array_equal(jax.vmap(f, (None, 0))(x, factors), factors[:, None] * x[None])
    g, before = numba_cuda_kernel(total, out(), launch_dims=1), len(gpu.launches)
    np.testing.assert_array_equal(jax.vmap(g)(jnp.stack([x, x + 1])), [1, 3])
    assert len(gpu.launches) - before == 1


@pytest.mark.slow
def test_vmap_with_barriers_is_one_launch(gpu):
    v, before = jnp.arange(200, dtype=F32).reshape(2, 100), len(gpu.launches)
    f = numba_cuda_kernel(block_sum, out(2), grid=2, block=BLOCK)
    expected = [[row[:64].sum(), row[64:].sum()] for row in np.asarray(v)]
    np.testing.assert_array_equal(jax.vmap(f)(v), expected)
    assert len(gpu.launches) - before == 1


def test_a_function_of_launches_is_recorded(gpu, x):
    def function(x, y, stream):
        middle = cuda.device_array(x.shape, dtype=np.float32)
        affine[1, 16, stream](x[::-1], True, 2.0, np.int8(1), np.complex64(1j), middle)
        add.forall(x.size, stream=stream)(middle, x, y)
        cuda_kernels.add[1, 16, stream](y, x, y)
        cuda.synchronize()

    f = numba_cuda_callable(function, out(10))
    np.testing.assert_array_equal(f(x), 2 * x[::-1] + 1 + 2 * x)
    np.testing.assert_array_equal(jax.vmap(f)(jnp.stack([x, x + 1]))[1], 2 * x[::-1] + 3 + 2 * (x + 1))


@pytest.mark.slow
@pytest.mark.parametrize("package", ["numba.cuda", "numba_cuda_mlir.cuda"])
def test_a_single_number_of_an_array_keeps_its_place_in_a_batch(gpu, package):
    module = pytest.importorskip(package)

    @module.jit
    def copied(number, y):
        y[0] = number[()]

    def third(x, y, stream):
        copied[1, 1, stream](x[2:3].reshape(()), y)

    rows = jnp.arange(30, dtype=F32).reshape(3, 10)
    found = jax.vmap(numba_cuda_callable(third, out(1)))(rows)
    np.testing.assert_array_equal(found, rows[:, 2:3])


def test_a_function_that_reads_is_run_in_python(gpu, x):
    def function(x, y, stream):
        if x.copy_to_host()[1] == 1:
            add[1, 16, stream](x, x, y)

    with pytest.warns(PythonFallbackWarning, match="reads or writes a device array"):
        found = numba_cuda_callable(function, out(10))(x)
    np.testing.assert_array_equal(found, 2 * x)


def test_a_function_in_python_gets_arrays_of_its_kernels_package():
    def function(x, y, stream):
        add[1, 16, stream](x, x, y)

    def other(x, y, stream):
        cuda_kernels.add[1, 16, stream](x, x, y)

    assert NumbaHost.of(function).cuda is cuda
    assert NumbaHost.of(other).cuda is cuda_kernels.cuda


def test_a_launch_with_clusters_is_refused(gpu, x):
    def function(x, y, stream):
        add[2, 16, stream, 0, 2](x, x, y)

    with pytest.raises(KernelDefinitionError, match="'add' is launched with clusters 2"):
        numba_cuda_callable(function, out(10))(x)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (writes_input, "writes into its input 'x'; inputs are read-only"),
        (misspelt, r"'misspelt' does not compile for \(x: readonly array\(float32, 1d, C\), out: array"),
        (whole_grid, "synchronises its whole grid"),
        (add, r"takes 3 arguments \(x, y, out\), but the call has 1 inputs"),
    ],
)
def test_a_kernel_that_cannot_serve_is_refused_when_traced(gpu, x, kernel, message):
    f = numba_cuda_kernel(kernel, out(10), launch_dims=10)
    with pytest.raises(KernelTypeError, match=message):
        jax.make_jaxpr(f)(x)


def test_a_kernel_that_synchronises_the_grid_is_launched_cooperatively(gpu, x):
    f = numba_cuda_kernel(whole_grid, out(10), grid=3, block=32, cooperative=True)
    assert f(x + 7)[0] == 7
    assert (gpu.launches[-1].grid, gpu.launches[-1].cooperative) == ((3, 1, 1), True)


def test_a_dtype_that_kernels_lack_is_named(gpu, x):
    f = numba_cuda_kernel(add, out(10), launch_dims=10)
    with pytest.raises(KernelTypeError, match="argument 'x' has dtype bfloat16"):
        f(x.astype(jnp.bfloat16), x)


def test_a_device_function_is_no_kernel():
    with pytest.raises(TypeError, match=r"decorate the function with .*@numba_cuda_mlir\.cuda\.jit"):
        numba_cuda_kernel(square, out(4), launch_dims=4)
