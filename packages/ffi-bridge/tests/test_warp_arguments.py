"""warp_kernel and warp_callable: outputs and launches that follow the inputs, arguments by name, effects."""

import inspect
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

pytest.importorskip("warp", reason="warp-lang is not installed")

import warp as wp
from warp_functions import X, cube, multiplied, scaled

from ffi_bridge import warp_callable, warp_kernel
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError

F32 = jnp.float32


@wp.kernel
def outer(x: wp.array[float], gain: float, y: wp.array[float], z: wp.array2d[float]):
    i, j = wp.tid()
    z[i, j] = gain * x[i] * y[j]


@wp.kernel
def summed(x: wp.array[float], total: wp.array[float]):
    wp.atomic_add(total, 0, x[wp.tid()])


@wp.kernel
def ramp(start: float, y: wp.array[float]):
    i = wp.tid()
    y[i] = start + float(i)


@wp.kernel
def ranged(x: wp.array[float], low: wp.array[float], high: wp.array[float]):
    wp.atomic_min(low, 0, x[wp.tid()])
    wp.atomic_max(high, 0, x[wp.tid()])


def of_both(x, y, **_):
    return jax.ShapeDtypeStruct((x.size, y.size), x.dtype)


def like(x, **_):
    return x


of_any = warp_kernel(outer, of_both)


@pytest.mark.parametrize("shape", [(3, 4), (40, 1), (0, 2)])
def test_one_wrapper_serves_every_shape(shape):
    x, y = (jnp.arange(n, dtype=F32) for n in shape)
    np.testing.assert_array_equal(of_any(x, 2.0, y), 2 * np.outer(x, y))
    assert jax.eval_shape(lambda x, y: of_any(x, 2.0, y), x, y) == jax.ShapeDtypeStruct(shape, F32)


def test_the_function_sees_no_batch_axes_and_the_static_values_by_name():
    seen = []

    def shape(x, y, gain):
        seen.append((x.shape, y.shape, gain))
        return of_both(x, y)

    xs, ys = jnp.arange(10.0).reshape(5, 2), jnp.arange(12.0).reshape(4, 3)
    call = warp_kernel(outer, shape)
    nested = jax.vmap(jax.vmap(lambda x, y: call(x, 3.0, y), (0, None)), (None, 0))
    np.testing.assert_array_equal(nested(xs, ys), 3 * jnp.einsum("bi,cj->cbij", xs, ys))
    assert set(seen) == {((2,), (3,), 3.0)}


def test_the_size_of_an_output_may_be_a_static_value_alone():
    call = warp_kernel(ramp, lambda start: jax.ShapeDtypeStruct((int(start),), F32))
    for n in (3, 5):
        np.testing.assert_array_equal(call(float(n)), n + np.arange(n))


@pytest.mark.parametrize("n", [1, 7, 300])
def test_launch_dims_follow(n):
    one = jax.ShapeDtypeStruct((1,), F32)
    x = jnp.arange(n, dtype=F32)
    total = warp_kernel(summed, one, in_out_argnames=["total"], launch_dims=lambda x, total: x.shape)
    np.testing.assert_array_equal(total(x, jnp.ones(1)), [1 + x.sum()])
    np.testing.assert_array_equal(total(x, jnp.ones(1), launch_dims=1), [1])  # that of one call
    scalar = jnp.float32(3)  # to Warp an array of one element
    np.testing.assert_array_equal(total(scalar, jnp.ones(1)), [4])


def test_in_out_arrays_come_first_in_outs():
    call = warp_kernel(
        ranged,
        lambda x, low, high: (low, high),
        in_out_argnames=["low", "high"],
        launch_dims=lambda x, *_: x.size,
    )
    low, high = call(X, jnp.ones(1), jnp.ones(1))
    assert (low.item(), high.item()) == (0, 9)


def test_outs_of_one_call_beside_a_function():
    call = warp_kernel(scaled, like)
    np.testing.assert_array_equal(call(X, 2.0), 2 * X)
    np.testing.assert_array_equal(call(X, 2.0, outs=jax.ShapeDtypeStruct((4,), F32)), 2 * X[:4])


def test_the_adjoint_follows():
    call = warp_kernel(multiplied, lambda x, y: x, differentiable=True)
    for x in (X, X[:3]):
        np.testing.assert_array_equal(jax.grad(lambda x: call(x, x).sum())(x), 2 * x)


def test_a_function_of_launches_follows():
    call = warp_callable(cube, lambda x: x)
    for x in (X, X[:3]):
        np.testing.assert_array_equal(call(x), x**3)
        np.testing.assert_array_equal(jax.vmap(call)(jnp.stack([x, x + 1])), jnp.stack([x, x + 1]) ** 3)
    with pytest.raises(KernelDefinitionError, match=r"function 'cube': its outs, the function .* raised"):
        warp_callable(cube, lambda x: x.no_such)(X)


def test_arguments_by_name():
    known, y = warp_kernel(outer, jax.ShapeDtypeStruct((10, 3), F32)), X[:3]
    expected = 2 * np.outer(X, y)
    for call in (known, of_any):
        for found in (call(X, 2.0, y=y), call(y=y, gain=2.0, x=X), call(X, gain=2.0, y=y)):
            np.testing.assert_array_equal(found, expected)
        with pytest.raises(KernelTypeError, match="kernel 'outer' got 2 inputs by position and gian by name"):
            call(X, y, gian=2.0)
    np.testing.assert_array_equal(warp_callable(cube, X)(x=X), X**3)
    assert list(inspect.signature(of_any).parameters) == ["x", "gain", "y", "outs", "launch_dims"]
    names = list(inspect.signature(warp_kernel(outer, lambda *_, **__: X)).parameters)
    assert names == ["ins", "outs", "launch_dims"]
    differentiable = jax.custom_vjp(lambda x: of_any(x, 2.0, y))
    differentiable.defvjp(lambda x: (of_any(x, 2.0, y), None), lambda _, ct: (ct.sum(1),))
    np.testing.assert_array_equal(jax.grad(lambda x: differentiable(x).sum())(X), np.full(10, 3))


def test_functions_are_pickled_with_it():
    again = pickle.loads(pickle.dumps(of_any))
    np.testing.assert_array_equal(again(X, 1.0, X[:2]), np.outer(X, X[:2]))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: warp_kernel(outer, lambda x, y: x)(X, 2.0, X), KernelDefinitionError, "unexpected keyword"),
        (
            lambda: warp_kernel(scaled, lambda x, factor: 3)(X, 2.0),
            KernelDefinitionError,
            "'scaled': its outs, the function .* returned 3: outs holds 3",
        ),
        (
            lambda: warp_kernel(scaled, lambda x, factor: (x, x))(X, 2.0),
            KernelDefinitionError,
            r"'scaled' has 1 outputs \(y\), but the call's outs has 2",
        ),
        (
            lambda: warp_kernel(scaled, like, launch_dims=lambda x, factor: -1)(X, 2.0),
            KernelDefinitionError,
            r"'scaled': its launch_dims, .* returned -1: launch_dims=-1; expected one to four integers",
        ),
        (
            lambda: warp_kernel(scaled, like)(X, 2.0, X),
            KernelTypeError,
            "'scaled' takes x, factor, y, the last of which are outputs, but the call has 3 inputs",
        ),
        (lambda: warp_kernel(scaled, like)(X), KernelDefinitionError, "output 'factor' is not a warp.array"),
    ],
)
def test_errors_name_the_function_and_what_it_did(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_symbolic_sizes_are_refused_as_ever():
    (n,) = export.symbolic_shape("n")
    call = warp_kernel(scaled, like, launch_dims=lambda x, **_: x.shape)
    with pytest.raises(KernelTypeError, match=r"'x' has the symbolic shape .* compiled for its sizes"):
        jax.eval_shape(lambda x: call(x, 2.0), jax.ShapeDtypeStruct((n,), F32))


def test_effects_keep_what_nobody_reads():
    def text(wrapped):
        return jax.jit(lambda x: (wrapped(x), x)[1]).lower(X).compile().as_text()

    for has_side_effect in (False, True):
        kernel = warp_kernel(scaled, like, has_side_effect=has_side_effect)
        function = warp_callable(cube, like, has_side_effect=has_side_effect)
        assert ("scaled.warp" in text(lambda x, call=kernel: call(x, 2.0))) == has_side_effect
        assert ("cube.warp" in text(function)) == has_side_effect


def test_effects_and_the_adjoint():
    call = warp_kernel(multiplied, lambda x, y: x, differentiable=True, has_side_effect=True)
    np.testing.assert_array_equal(jax.jit(jax.grad(lambda x: call(x, X).sum()))(X), X)


def test_on_a_gpu_too(warp_on_gpu):
    before = len(warp_on_gpu.launches)
    for n in (3, 500):
        x = jnp.arange(n, dtype=F32)
        np.testing.assert_array_equal(of_any(x, 2.0, X[:2]), 2 * np.outer(x, X[:2]))
    assert [launch.grid for launch in warp_on_gpu.launches[before:]] == [(1, 1, 1), (4, 1, 1)]
