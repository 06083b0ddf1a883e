"""numba_cuda_kernel: static arguments, numbers, arguments by name."""

import enum
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import wrong_arguments

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from numba import cuda

from ffi_bridge import numba_cuda_kernel
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.native.parameters import Parameters
from ffi_bridge.numba_cuda import compile as numba_cuda_compile
from ffi_bridge.numba_cuda.entry import entry_of
from ffi_bridge.numba_cuda.toolchain import ArrayType
from ffi_bridge.targets import targets

X = jnp.arange(3.0)


class Mode(enum.Enum):
    ADD = "add"
    MULTIPLY = "multiply"


@pytest.fixture(params=["numba.cuda", "numba_cuda_mlir.cuda"])
def package(request, gpu):
    """The module `cuda` of each compiler."""
    return pytest.importorskip(request.param)


def like(x, *_, **__):
    return x


def size(x, *_, **__):
    return x.size


def combined(package, outs=like, **options):
    @package.jit
    def combine(x, factor, n, y, word="sum"):
        i = package.grid(1)
        if i < y.size:
            if word == "sum":
                y[i] = factor * x[i] + n
            else:
                y[i] = factor * x[i] * n

    names = {"static_argnames": ("n", "word"), "scalar_argnames": "factor"}
    return numba_cuda_kernel(combine, outs, **({"launch_dims": size} | names | options))


@pytest.mark.slow_cases("numba.cuda")
@pytest.mark.parametrize(
    "n", [2, True, *(pytest.param(n, marks=pytest.mark.slow) for n in (2.5, np.int8(3), np.float32(1.5)))]
)
@pytest.mark.parametrize("word", ["sum", pytest.param("product", marks=pytest.mark.slow)])
def test_static_arguments_are_constants(package, n, word):
    call, number = combined(package), np.float32(n)
    expected = 2 * X + number if word == "sum" else 2 * X * number
    np.testing.assert_allclose(call(X, 2.0, n=n, word=word), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(lambda x: call(x, 2.0, n=n, word=word))(X), expected, rtol=1e-6)


@pytest.mark.slow
def test_constants_give_the_size_of_arrays_and_leave_branches_out(package):
    float32 = pytest.importorskip(package.__name__.removesuffix(".cuda")).types.float32

    @package.jit
    def turned(x, rows, columns, mask, y):
        tile = package.shared.array((rows, columns), float32)
        i, j = package.threadIdx.x, package.threadIdx.y
        tile[i, j] = x[i, j]
        package.syncthreads()
        if mask is None:
            y[j, i] = tile[i, j] * columns
        else:
            y[j, i] = mask[i, j]

    def turned_shape(x, **_):
        return jax.ShapeDtypeStruct(x.shape[::-1], x.dtype)

    names = ("rows", "columns", "mask")
    call = numba_cuda_kernel(
        turned, turned_shape, grid=1, block=lambda x, **_: x.shape, static_argnames=names
    )
    for rows, columns in ((2, 3), (5, 4)):
        x = jnp.arange(1.0 * rows * columns).reshape(rows, columns)
        np.testing.assert_array_equal(call(x, rows=rows, columns=columns, mask=None), columns * x.T)


@pytest.mark.slow
def test_tuples(package):
    @package.jit
    def dot(x, weights, y):
        total = 0.0
        for i in range(len(weights)):
            total += weights[i] * x[i]
        y[()] = total

    scalar = jax.ShapeDtypeStruct((), "float32")
    call = numba_cuda_kernel(dot, scalar, launch_dims=1, static_argnames="weights")
    assert call(X, weights=(1, 2, 3)) == 8
    assert call(X, weights=(0.5, 0.25)) == 0.25


@cuda.jit
def by_mode(x, mode, dtype, y):
    scratch = cuda.local.array(1, dtype)
    scratch[0] = x[cuda.grid(1)]
    if mode == Mode.ADD:
        y[cuda.grid(1)] = scratch[0] + 1
    else:
        y[cuda.grid(1)] = scratch[0] * 5


@pytest.mark.slow
def test_members_of_enums_and_dtypes(gpu):
    call = numba_cuda_kernel(by_mode, like, launch_dims=size, static_argnames=("mode", "dtype"))
    x = X + 0.5
    np.testing.assert_array_equal(call(x, mode=Mode.ADD, dtype=np.dtype("int32")), X + 1)
    np.testing.assert_array_equal(call(x, mode=Mode.MULTIPLY, dtype=np.float32), x * 5)
    rows = jnp.stack([x, 2 * x])
    batch = jax.vmap(lambda x: call(x, mode=Mode.MULTIPLY, dtype=np.dtype("int8")))(rows)
    np.testing.assert_array_equal(batch, np.trunc(rows) * 5)


@pytest.mark.parametrize("value", [Mode.ADD, np.dtype("int32"), (1, Mode.ADD)])
def test_constants_that_a_compiler_lacks_are_named(gpu, value):
    mlir = pytest.importorskip("numba_cuda_mlir.cuda")
    with pytest.raises(KernelTypeError, match=r"'combine': n=.* is no constant that numba-cuda-mlir 0\.6"):
        combined(mlir)(X, 2.0, n=value)


def test_each_value_has_machine_code_of_its_own(package):
    def compiled():
        return {name for name in targets() if name.startswith("combine.")}

    call = combined(package)
    call(X, 2.0, n=11)
    before = compiled()
    call(X, 5.0, n=11)
    assert compiled() == before
    for value in (12, 12.0):
        call(X, 2.0, n=value)
    assert len(compiled()) == len(before) + 2


@pytest.mark.slow_cases("numba.cuda")
@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "float16",
        *(pytest.param(x, marks=pytest.mark.slow) for x in ("uint8", "int32", "float32", "complex64")),
    ],
)
def test_numbers_of_every_kind(package, dtype):
    @package.jit
    def repeat(a, y):
        for i in range(y.size):
            y[i] = a

    call = numba_cuda_kernel(repeat, jax.ShapeDtypeStruct((2,), dtype), launch_dims=1, scalar_argnames="a")
    for a in (0, 1):
        np.testing.assert_array_equal(call(jnp.asarray(a, dtype)), np.full(2, a, dtype))
    batch = jax.vmap(call)(jnp.asarray([0, 1, 1], dtype))
    np.testing.assert_array_equal(batch, np.asarray([[0, 0], [1, 1], [1, 1]], dtype))


@pytest.mark.slow
def test_float16_for_which_other_code_is_linked(package):
    x, factor = jnp.arange(3).astype("float16"), jnp.float16(2)
    call = combined(package)
    np.testing.assert_array_equal(call(x, factor, n=1), 2 * x + 1)
    batch = jax.vmap(lambda x: call(x, factor, n=1))(jnp.stack([x, x + 1]))
    np.testing.assert_array_equal(batch[1], 2 * x + 3)


@pytest.mark.slow
def test_a_batch_of_numbers_is_one_launch(package, gpu):
    call, factors = combined(package), jnp.array([2.0, 3.0])
    rows, before = jnp.stack([X, X + 1, X * 4]), len(gpu.launches)
    nested = jax.vmap(jax.vmap(lambda x, a: call(x, a, n=1), (0, None)), (None, 0))
    np.testing.assert_array_equal(nested(rows, factors), factors[:, None, None] * rows[None] + 1)
    assert [launch.grid for launch in gpu.launches[before:]] == [(1, 1, 6)]


def test_a_batch_of_a_kernel_that_uses_the_third_axis_is_a_loop(package, gpu):
    @package.jit
    def scale(x, factor, n, y):
        i = package.grid(1)
        if i < y.size and package.blockIdx.z == 0:
            y[i] = factor * x[i] + n

    call = numba_cuda_kernel(scale, like, launch_dims=size, static_argnames="n", scalar_argnames="factor")
    factors, before = jnp.array([2.0, 3.0]), len(gpu.launches)
    found = jax.vmap(lambda a: call(X, a, n=4))(factors)
    np.testing.assert_array_equal(found, factors[:, None] * X[None] + 4)
    assert len(gpu.launches) - before == 2


@pytest.mark.slow
def test_globals_are_read_anew_where_a_kernel_is_wrapped_again(package, monkeypatch):
    global OFFSET

    @package.jit
    def shift(x, factor, y):
        i = package.grid(1)
        if i < y.size:
            y[i] = factor * x[i] + OFFSET

    for OFFSET in (1, 10):
        call = numba_cuda_kernel(shift, like, launch_dims=size, scalar_argnames="factor")
        np.testing.assert_array_equal(call(X, 2.0), 2 * X + OFFSET)


OFFSET = 0


@pytest.mark.parametrize("batch", [False, True])
def test_an_access_out_of_bounds_names_the_line_of_the_kernel(package, batch):
    @package.jit
    def beyond(x, n, factor, y):
        i = package.grid(1)
        y[i] = factor * x[i + n]

    line = beyond.py_func.__code__.co_firstlineno + 3
    names = {"static_argnames": "n", "scalar_argnames": "factor"}
    call = numba_cuda_kernel(beyond, like, launch_dims=size, **names)
    expected = rf"argument 'x' \(float32\[.*\).*\n  at test_numba_cuda_arguments.py:{line}:"
    with pytest.raises(jax.errors.JaxRuntimeError, match=expected):
        jax.vmap(lambda x: call(x, 2.0, n=1))(X[None]) if batch else call(X, 2.0, n=1)


@pytest.mark.slow_cases("numba.cuda")
def test_arguments_by_name(package):
    call, expected = combined(package), 3 * X + 1
    for y in (call(X, factor=3.0, n=1), call(factor=3.0, x=X, n=1)):
        np.testing.assert_array_equal(y, expected)
    assert str(inspect.signature(call)) == "(*ins, n, word='sum')"
    known = combined(package, lambda x, factor, **_: x)
    assert str(inspect.signature(known)) == "(x, factor, *, n, word='sum')"
    differentiable = jax.custom_vjp(lambda x: call(x, 2.0, n=1))
    differentiable.defvjp(lambda x: (call(x, 2.0, n=1), None), lambda _, ct: (2 * ct,))
    np.testing.assert_array_equal(jax.grad(lambda x: differentiable(x).sum())(X), [2, 2, 2])


@wrong_arguments.each_call
def test_wrong_calls(package, args, named, text):
    with pytest.raises(KernelTypeError, match=text):
        combined(package)(*args, **named)


@wrong_arguments.each_definition
def test_wrong_definitions(package, options, text):
    with pytest.raises(KernelDefinitionError, match=text):
        combined(package, **options)


def test_a_number_cannot_be_written_to(package):
    with pytest.raises(KernelTypeError, match="'y' is in scalar_argnames, and the kernel writes to it"):
        combined(package, scalar_argnames=("factor", "y"))(X, 2.0, n=1)


def test_another_process_finds_the_code_of_a_constant(package, tmp_path, monkeypatch):
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path))

    @package.jit
    def scale(x, factor, n, y):
        y[0] = factor * x[0] + n

    parameters = Parameters.of(scale.py_func, "n", "factor")
    single = np.dtype("float32")
    arrays = [ArrayType(single, 1, True), ArrayType(single, 0, True), ArrayType(single, 1, False)]

    def kept(n):
        monkeypatch.setattr(numba_cuda_compile, "_cubins", {})
        before = len(list(tmp_path.iterdir()))
        entry = entry_of(scale, parameters, (("n", n),))
        numba_cuda_compile.compile_kernel(entry, arrays, (9, 0))
        return len(list(tmp_path.iterdir())) - before

    assert [kept(4), kept(4), kept(4.0), kept(5), kept(4)] == [1, 0, 1, 1, 0]
