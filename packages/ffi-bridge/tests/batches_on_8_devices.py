"""Batches that are split over devices, on the 8 devices that test_kernel_shard_map.py starts it with."""

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from ffi_bridge import XLACustomKernel, numba_kernel
from ffi_bridge.errors import ShardedInputError

ONE = jax.ShapeDtypeStruct((1,), jnp.float32)
X = jnp.arange(48, dtype=jnp.float32).reshape(16, 3)
W = jnp.array([1.0, 2.0, 3.0])
KINDS = {"auto": AxisType.Auto, "explicit": AxisType.Explicit}


@numba.njit
def product(x, w, y):
    total = 0.0
    for i in range(x.size):
        total += x[i] * w[i]
    y[0] = total


@numba.njit
def refuses(x, y):
    if x[0] < 0:
        raise ValueError("negative")
    y[0] = x[0]


@numba.njit
def doubled(x, y):
    for i in range(y.size):
        y[i] *= 2


dot, positive = numba_kernel(product, ONE), numba_kernel(refuses, ONE)


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def mesh(request):
    mesh = jax.make_mesh((8,), ("b",), axis_types=(request.param,))
    with jax.set_mesh(mesh):
        yield mesh


def split(mesh, x, *axes):
    return jax.device_put(x, NamedSharding(mesh, P(*axes)))


def compiled(program, *args):
    """Return what a program gives, and its text."""
    built = jax.jit(program).lower(*args).compile()
    return built(*args), built.as_text()


def exchanges(text):
    return any(name in text for name in ("all-gather", "all-reduce", "all-to-all", "collective-permute"))


def test_each_device_calls_the_kernel_for_its_part(mesh):
    x = split(mesh, X, "b")
    y, text = compiled(jax.vmap(dot), x, x)
    assert not exchanges(text)
    assert "f32[2,1]{1,0} custom-call(" in text
    assert y.sharding.spec[0] == "b"
    np.testing.assert_array_equal(y, (X * X).sum(1, keepdims=True))


@pytest.mark.parametrize("weights", [W, W[:1]], ids=["vector", "number"])
def test_small_inputs_that_are_not_mapped_are_repeated(mesh, weights):
    x = split(mesh, X[:, : weights.size], "b")
    y, text = compiled(jax.vmap(dot, (0, None)), x, split(mesh, weights))
    assert not exchanges(text)
    np.testing.assert_array_equal(y, x @ weights[:, None])


def test_large_inputs_that_are_not_mapped():
    weights = jnp.ones(400)
    mesh = jax.make_mesh((8,), ("b",), axis_types=(AxisType.Auto,))
    y, text = compiled(jax.vmap(dot, (0, None)), split(mesh, X, "b"), split(mesh, weights))
    assert exchanges(text)
    np.testing.assert_array_equal(y, X.sum(1, keepdims=True))
    mesh = jax.make_mesh((8,), ("b",), axis_types=(AxisType.Explicit,))
    with pytest.raises(ShardedInputError, match=r"'product': input 0 is float32\[16@b,3\]"):
        jax.vmap(dot, (0, None))(split(mesh, X, "b"), split(mesh, weights))


def test_nested_batches(mesh):
    x = split(mesh, jnp.stack([X, -X], 1), "b")  # 16, 2, 3
    y, text = compiled(jax.vmap(jax.vmap(dot)), x, x)
    assert not exchanges(text)
    np.testing.assert_array_equal(y, (x * x).sum(2, keepdims=True))


def test_an_axis_of_a_batch_further_in(mesh):
    x = split(mesh, jnp.stack([X, -X]), None, "b")
    y, _ = compiled(jax.vmap(jax.vmap(dot)), x, x)
    np.testing.assert_array_equal(y, (x * x).sum(2, keepdims=True))


def test_memory_in_place_is_not_divided():
    # XLA would forget that the input is where the output begins.
    double = numba_kernel(doubled, jax.ShapeDtypeStruct((3,), jnp.float32), input_output_aliases={0: 0})
    mesh = jax.make_mesh((8,), ("b",), axis_types=(AxisType.Auto,))
    y, _ = compiled(jax.vmap(double), split(mesh, X, "b"))
    np.testing.assert_array_equal(y, 2 * X)
    mesh = jax.make_mesh((8,), ("b",), axis_types=(AxisType.Explicit,))
    with pytest.raises(ShardedInputError, match=r"'doubled': input 0 is"):
        jax.vmap(double)(split(mesh, X, "b"))


@pytest.mark.parametrize("size", [16, 12, 20, 1])
def test_elements_that_nobody_gave_are_none(size):
    # 12 elements over 8 devices would be filled up to 16.
    mesh = jax.make_mesh((8,), ("b",), axis_types=(AxisType.Auto,))
    given = jnp.where(jnp.arange(24) < size, 1.0, -1.0)[:, None]
    call = jax.vmap(positive)
    y, _ = compiled(lambda x: call(x[:size]), split(mesh, given, "b"))
    np.testing.assert_array_equal(y, np.ones((size, 1)))


def test_a_batch_that_is_whole(mesh):
    y, _ = compiled(jax.vmap(dot), split(mesh, X), split(mesh, X))
    np.testing.assert_array_equal(y, (X * X).sum(1, keepdims=True))


def test_two_axes_of_devices():
    mesh = jax.make_mesh((4, 2), ("b", "c"), axis_types=(AxisType.Auto,) * 2)
    x = split(mesh, jnp.ones((16, 4)) * jnp.arange(16.0)[:, None], "b", "c")
    y, text = compiled(jax.vmap(dot), x, x)
    assert "f32[4,1]{1,0} custom-call(" in text or "f32[2,1]{1,0} custom-call(" in text
    np.testing.assert_array_equal(y, (x * x).sum(1, keepdims=True))


def test_an_axis_that_is_none_of_the_batch_is_refused():
    mesh = jax.make_mesh((4, 2), ("b", "c"), axis_types=(AxisType.Explicit,) * 2)
    x = split(mesh, jnp.ones((16, 4)), "b", "c")
    with pytest.raises(ShardedInputError, match="input 0 is"):
        jax.vmap(dot)(x, x)


def test_in_a_scan_and_in_an_operator():
    mesh = jax.make_mesh((8,), ("b",), axis_types=(AxisType.Auto,))
    operator = XLACustomKernel("dot_on_devices")
    operator.def_kernel("numba", "cpu", lambda outs: dot)

    def steps(x):
        def step(c, _):
            return c + jax.vmap(lambda a: operator(a, a, outs=ONE))(x), None

        return jax.lax.scan(step, jnp.zeros((16, 1)), length=3)[0]

    y, text = compiled(steps, split(mesh, X, "b"))
    assert not exchanges(text)
    np.testing.assert_array_equal(y, 3 * (X * X).sum(1, keepdims=True))


def test_exported_for_8_devices():
    mesh = jax.make_mesh((8,), ("b",), axis_types=(AxisType.Auto,))
    x = split(mesh, X, "b")
    unchecked = [jax.export.DisabledSafetyCheck.custom_call(n) for n in targets(x)]
    exported = jax.export.export(jax.jit(jax.vmap(dot)), disabled_checks=unchecked)(x, x)
    again = jax.export.deserialize(exported.serialize())
    np.testing.assert_array_equal(jax.jit(again.call)(x, x), (X * X).sum(1, keepdims=True))


def targets(x):
    text = jax.jit(jax.vmap(dot)).lower(x, x).as_text()
    return {word.strip("@") for word in text.replace("(", " ").split() if word.startswith("@product.")}
