"""numba_cuda_callable: outputs that follow the inputs, static arguments, arguments by name, effects."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from numba import cuda

from ffi_bridge import numba_cuda_callable
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError, PythonFallbackWarning

pytestmark = pytest.mark.usefixtures("gpu")

X = jnp.arange(10.0)


@cuda.jit
def multiply(x, y, z):
    i = cuda.grid(1)
    if i < z.size:
        z[i] = x[i] * y[i]


def like(x, **_):
    return x


def power(x, exponent, y, stream, tpb=32):
    """Compute x^exponent by as many launches."""
    blocks = -(-x.size // tpb)
    done = x
    for step in range(1, exponent):
        product = y if step == exponent - 1 else cuda.device_array_like(x)
        multiply[blocks, tpb, stream](done, x, product)
        done = product


powers = numba_cuda_callable(power, like, static_argnames=("exponent", "tpb"))


def test_static_arguments_choose_the_launches(gpu):
    for exponent in (2, 4):
        before = len(gpu.launches)
        np.testing.assert_array_equal(powers(X, exponent=exponent), X**exponent)
        assert len(gpu.launches) - before == exponent - 1
    before = len(gpu.launches)
    np.testing.assert_array_equal(jax.jit(lambda x: powers(x, exponent=3, tpb=4))(X), X**3)
    assert [launch.grid[0] for launch in gpu.launches[before:]] == [3, 3]


@pytest.mark.parametrize("size", [0, 1, 100])
def test_one_wrapper_serves_every_size(size):
    x = jnp.arange(size, dtype="float32")
    np.testing.assert_array_equal(powers(x, exponent=2), x**2)


def test_the_function_of_shapes_sees_no_batch_axes():
    rows = jnp.stack([X, X + 1])
    np.testing.assert_array_equal(jax.vmap(lambda x: powers(x, exponent=3))(rows), rows**3)


def test_arguments_by_name():
    def product(x, y, z, stream):
        multiply[1, 32, stream](x, y, z)

    call = numba_cuda_callable(product, lambda x, y: x)
    for found in (call(X, X + 1), call(y=X + 1, x=X), call(X, y=X + 1)):
        np.testing.assert_array_equal(found, X * (X + 1))
    assert str(inspect.signature(call)) == "(x, y)"
    with pytest.raises(KernelTypeError, match="'product' got 1 inputs by position and w by name"):
        call(X, w=X)


def test_a_function_in_python_gets_its_static_arguments():
    def scale(x, factor, y, stream):
        y[:] = factor * x.copy_to_host()

    call = numba_cuda_callable(scale, like, static_argnames="factor")
    for factor in (2, 5, 5.5):
        with pytest.warns(PythonFallbackWarning):
            np.testing.assert_array_equal(call(X, factor=factor), factor * X)


def test_errors_name_the_function_of_shapes():
    call = numba_cuda_callable(power, lambda x: x, static_argnames="exponent")
    expected = (
        r"function 'power': its outs, the function .* raised TypeError for \(float32\[10\], exponent=2\)"
    )
    with pytest.raises(KernelDefinitionError, match=expected):
        call(X, exponent=2)
    with pytest.raises(KernelDefinitionError, match="static_argnames has 'n'"):
        numba_cuda_callable(power, like, static_argnames="n")
    with pytest.raises(KernelTypeError, match="the call has no exponent"):
        powers(X)


def test_a_function_in_python_with_effects_runs_where_nothing_reads_its_results():
    runs = []

    def function(x, y, stream):
        runs.append(x.copy_to_host().size)

    def times(**options):
        call = numba_cuda_callable(function, like, **options)
        runs.clear()
        jax.block_until_ready(jax.jit(lambda x: (call(x), x)[1])(X))
        return len(runs)

    with pytest.warns(PythonFallbackWarning):
        assert (times(), times(has_side_effect=True)) == (0, 1)


def test_recorded_launches_with_effects_are_kept(gpu):
    def launches(**options):
        call = numba_cuda_callable(power, like, static_argnames=("exponent", "tpb"), **options)
        before = len(gpu.launches)
        jax.block_until_ready(jax.jit(lambda x: (call(x, exponent=3), x)[1])(X))
        return len(gpu.launches) - before

    assert (launches(), launches(has_side_effect=True)) == (0, 2)


@pytest.mark.parametrize("blocks", [0, 1])
def test_an_output_that_no_thread_is_launched_on_is_refused(blocks):
    def into_a_temporary(x, y, z, stream):
        multiply[1, 32, stream](x, x, cuda.device_array_like(x))
        multiply[1, 32, stream](x, x, y)
        multiply[blocks, 32, stream](x, y, y if blocks else z)

    call = numba_cuda_callable(into_a_temporary, (X, X))
    with pytest.raises(KernelTypeError, match="'into_a_temporary' launches no thread on its output 'z'"):
        jax.eval_shape(call, X)
    begun = numba_cuda_callable(into_a_temporary, (X, X), input_output_aliases={0: 1})
    assert jax.eval_shape(begun, X)[1].shape == (10,)
