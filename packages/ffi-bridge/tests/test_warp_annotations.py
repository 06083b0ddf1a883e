"""Annotations of Warp kernels: every way to write an array, static values of every kind, what is refused."""

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError

wp = pytest.importorskip("warp", reason="warp-lang is not installed")
warp_kernel = pytest.importorskip("ffi_bridge.warp.kernel", reason="warp-lang is not installed").warp_kernel

wp.config.quiet = True


@wp.struct
class Wave:
    gain: float
    phase: wp.vec3


@wp.struct
class Nested:
    wave: Wave
    count: int


@wp.struct
class WithArray:
    values: wp.array(dtype=float)


def doubled(x, y):
    i = wp.tid()
    y[i] = x[i] + x[i]


def doubled_2d(x, y):
    i, j = wp.tid()
    y[i, j] = x[i, j] + x[i, j]


def annotated(function, *types):
    """The kernel made of a function whose parameters have these annotations."""
    names = function.__code__.co_varnames
    function.__annotations__ = dict(zip(names, types, strict=False))
    return wp.kernel(function, module="unique")


def given(shape, dtype=jnp.float32):
    return jnp.arange(np.prod(shape)).reshape(shape).astype(dtype)


@pytest.mark.parametrize(
    ("function", "annotation", "shape", "dtype"),
    [
        (doubled, wp.array[float], (4,), jnp.float32),
        (doubled, wp.array1d[wp.int32], (4,), jnp.int32),
        (doubled, "wp.array[float]", (4,), jnp.float32),
        (doubled, "wp.array(dtype=float)", (4,), jnp.float32),
        (doubled, wp.array[wp.vec3], (4, 3), jnp.float32),
        (doubled, wp.array[wp.mat22], (4, 2, 2), jnp.float32),
        (doubled, wp.array[wp.quat], (2, 4), jnp.float32),
        (doubled_2d, wp.array2d[float], (2, 3), jnp.float32),
        (doubled_2d, wp.array[float, Literal[2]], (2, 3), jnp.float32),
        (doubled_2d, wp.array2d[wp.vec2], (2, 3, 2), jnp.float32),
        (doubled, wp.array[Any], (4,), jnp.float16),
        (doubled_2d, wp.array2d[Any], (2, 3), jnp.int32),
        (doubled, wp.array[wp.types.vector(length=Any, dtype=float)], (3, 5), jnp.float32),
    ],
)
def test_every_way_to_write_an_array(function, annotation, shape, dtype):
    x = given(shape, dtype)
    kernel = annotated(function, annotation, annotation)
    result = warp_kernel(kernel, jax.ShapeDtypeStruct(shape, dtype))(x)
    np.testing.assert_array_equal(result, x + x)


def test_both_styles_in_one_kernel_its_vmap_and_its_adjoint():
    kernel = annotated(doubled, wp.array[float], wp.array(dtype=float))
    f = warp_kernel(kernel, jax.ShapeDtypeStruct((4,), jnp.float32), differentiable=True)
    x = given((3, 4))
    np.testing.assert_array_equal(jax.vmap(f)(x), 2 * x)
    np.testing.assert_array_equal(jax.vmap(jax.grad(lambda x: f(x).sum()))(x), np.full((3, 4), 2.0))


@wp.kernel
def waves(nested: Nested, x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    y[i] = nested.wave.gain * x[i] + nested.wave.phase[1] + float(nested.count)


def test_a_struct_of_values_is_static_and_taken_as_it_is_when_given():
    nested, x = Nested(), given((3,))
    nested.wave.gain, nested.wave.phase, nested.count = 2.0, wp.vec3(1.0, 0.5, 0.0), 4
    f = warp_kernel(waves, jax.ShapeDtypeStruct((3,), jnp.float32), differentiable=True)
    np.testing.assert_array_equal(f(nested, x), 2 * x + 4.5)
    nested.count = 5
    np.testing.assert_array_equal(jax.jit(lambda x: f(nested, x))(x), 2 * x + 5.5)
    np.testing.assert_array_equal(jax.grad(lambda x: f(nested, x).sum())(x), [2.0, 2.0, 2.0])
    with pytest.raises(KernelTypeError, match=r"'nested' is the struct .*Nested, but .* Wave.*; make"):
        f(Wave(), x)


@pytest.mark.parametrize(
    ("annotation", "match"),
    [
        (wp.indexedarray[float], "'x' is wp.indexedarray.*for which JAX has no value; expected a warp.array"),
        (wp.fabricarray[float], "'x' is wp.fabricarray"),
        (wp.array[float, Any], r"'x' is wp.array.*Any.*of 1 to 4 dimensions"),
        (wp.array[Wave], "'x' is an array of the struct .*Wave"),
        (WithArray, "'x' is the struct .*WithArray"),
        (wp.Texture2D, "'x' is .*Texture2D"),
        (tuple[int, int], "'x' is tuple"),
    ],
)
def test_what_jax_has_no_value_for_is_refused_by_name(annotation, match):
    kernel = annotated(doubled, annotation, wp.array[float])
    with pytest.raises(KernelDefinitionError, match=match):
        warp_kernel(kernel, jax.ShapeDtypeStruct((4,), jnp.float32))
