"""Annotations of Warp kernels: every way to write an array, static values of every kind, what is refused."""

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError

wp = pytest.importorskip("warp", reason="warp-lang is not installed")
kernel_module = pytest.importorskip("ffi_bridge.warp.kernel", reason="warp-lang is not installed")
warp_kernel, warp_callable = kernel_module.warp_kernel, kernel_module.warp_callable

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


@wp.struct
class Small:
    count: wp.uint8


@wp.struct
class Outer:
    small: Small


@wp.kernel
def counts(outer: Outer, n: wp.int8, x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    y[i] = x[i] + float(outer.small.count) + float(n)


@wp.kernel
def shapes(m: wp.types.matrix((2, 3), wp.float32), v: wp.vec3i, flag: wp.bool, y: wp.array[float]):
    i = wp.tid()
    if flag:
        y[i] = m[0, 1] + float(v[2])


def outer_of(count):
    outer = Outer()
    outer.small.count = count
    return outer


def launch_counts(count: int, n: int, x: wp.array[float], y: wp.array[float]):
    wp.launch(counts, 4, inputs=[outer_of(count), n, x], outputs=[y])


def test_what_the_type_of_a_static_value_does_not_hold_is_refused():
    x, four = given((4,)), jax.ShapeDtypeStruct((4,), jnp.float32)
    call, launches = warp_kernel(counts, four), warp_callable(launch_counts, four)
    np.testing.assert_array_equal(call(outer_of(wp.uint8(200)), wp.int16(-3), x), x + 197)
    for count, n, text in [
        (256, 1, r"'outer.small.count' is uint8, and the call gives it 256; expected 0 to 255"),
        (1, 128, r"'n' is int8, and the call gives it 128; expected -128 to 127"),
    ]:
        for number in (n, wp.int32(n)):
            with pytest.raises(KernelTypeError, match=text):
                call(outer_of(count), number, x)
        with pytest.raises(KernelTypeError, match=text):
            launches(count, n, x)

    shaped = warp_kernel(shapes, four)
    six = np.arange(6.0)
    np.testing.assert_array_equal(shaped(six.reshape(2, 3), wp.vec3i(1, 2, 3), True), np.full(4, 4.0))
    for m, v, flag, text in [
        (six.reshape(3, 2), (1, 2, 3), True, r"'m' is .*; expected numbers of shape \(2, 3\)"),
        (six, (1, 2), True, r"'v' is vec3i, and the call gives it \[1, 2\]; expected integers of shape"),
        (six, (1, 2, 3.5), True, r"'v' is vec3i, .* expected integers of shape \(3,\)"),
        (six, (1, 2, 2**31), True, "'v' is int32, and the call gives it 2147483648"),
        (six, (1, 2, 3), "no", "'flag' is bool, and the call gives it 'no'; expected True or False"),
    ]:
        with pytest.raises(KernelTypeError, match=text):
            shaped(m, v, flag)
