"""What people know from `warp.jax_kernel`: in-kernel vmap methods, dimensions and outputs of one call."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ffi_bridge.errors import KernelDefinitionError

wp = pytest.importorskip("warp", reason="warp-lang is not installed")
warp_kernel = pytest.importorskip("ffi_bridge.warp.kernel", reason="warp-lang is not installed").warp_kernel

wp.config.quiet = True
F32 = jnp.float32


@wp.kernel
def added(x: wp.array2d[float], y: wp.array2d[float], out: wp.array2d[float]):
    i, j = wp.tid()
    out[i, j] = x[i, j] + y[i, j]


@wp.kernel
def add_rows(m: wp.array2d[float], sums: wp.array[float]):
    i, j = wp.tid()
    wp.atomic_add(sums, i, m[i, j])


@wp.kernel
def looked_up(table: wp.array[float], indices: wp.array[int], out: wp.array[float], threads: wp.array[int]):
    i = wp.tid()
    out[i] = table[indices[i]]
    threads[i] = table.shape[0]


@wp.kernel
def numbered(x: wp.array[float], at: wp.array2d[wp.vec2]):
    i, j = wp.tid()
    at[i, j] = wp.vec2(float(i), x[0])


def struct(*shape, dtype=F32):
    return jax.ShapeDtypeStruct(shape, dtype)


RNG = np.random.default_rng(0)


@pytest.mark.parametrize("method", ["expand_dims", "broadcast_all"])
@pytest.mark.parametrize("axes", [(0, 0), (1, 2), (2, 1)])
def test_the_batch_is_in_the_first_axes(method, axes):
    a = RNG.random((2, 3, 4), np.float32)
    x, y = (np.moveaxis(a, 0, axis) for axis in axes)
    f = warp_kernel(added, struct(3, 4), vmap_method=method)
    np.testing.assert_array_equal(jax.jit(jax.vmap(f, axes))(x, y), a + a)


@pytest.mark.parametrize("method", ["expand_dims", "broadcast_all"])
def test_nested_and_in_place(method):
    m, sums = RNG.random((5, 2, 3, 4), np.float32), RNG.random((5, 2, 3), np.float32)
    f = warp_kernel(add_rows, struct(3), in_out_argnames=["sums"], launch_dims=(3, 4), vmap_method=method)
    expected = sums + m.sum(-1)
    np.testing.assert_allclose(jax.vmap(jax.vmap(f))(m, sums), expected, rtol=1e-6)
    # What a kernel updates in place is each element's own.
    shared = jax.vmap(f, (0, None))(m[0], sums[0, 0])
    np.testing.assert_allclose(shared, sums[0, 0] + m[0].sum(-1), rtol=1e-6)


@pytest.mark.parametrize(("method", "rows"), [("expand_dims", 6), ("broadcast_all", 18), (None, 6)])
def test_what_all_elements_share_stays_as_it_is_or_is_repeated(method, rows):
    table, indices = jnp.arange(6.0), jnp.array([[0, 2], [4, 1], [5, 5]])
    f = warp_kernel(looked_up, (struct(2), struct(2, dtype=jnp.int32)), vmap_method=method)
    found, seen = jax.vmap(f, (None, 0))(table, indices)
    np.testing.assert_array_equal(found, table[indices])
    assert seen.tolist() == [[rows] * 2] * 3


def test_adjoints_of_a_batch_in_the_kernel():
    f = warp_kernel(added, struct(3, 4), vmap_method="broadcast_all", differentiable=True)
    x, y = RNG.random((2, 3, 4), np.float32), RNG.random((3, 4), np.float32)

    def slopes(f):
        return jax.vmap(jax.grad(lambda x, y: jnp.sum(f(x, y) ** 2), (0, 1)), (0, None))(x, y)

    for found, expected in zip(slopes(f), slopes(jnp.add), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_0d_array_and_an_empty_batch():
    f = warp_kernel(added, struct(1, 1), vmap_method="broadcast_all")
    assert jax.vmap(f)(jnp.zeros((0, 1, 1)), jnp.zeros((0, 1, 1))).shape == (0, 1, 1)
    g = warp_kernel(
        add_rows, struct(), in_out_argnames=["sums"], vmap_method="expand_dims", launch_dims=(1, 2)
    )
    assert jax.vmap(g)(jnp.ones((3, 1, 2)), jnp.arange(3.0)).tolist() == [2, 3, 4]


def test_dimensions_and_outputs_of_one_call():
    f = warp_kernel(added, struct(2, 3))
    x = jnp.arange(12.0).reshape(4, 3)
    for run in (f, jax.jit(f, static_argnames=("outs", "launch_dims"))):
        np.testing.assert_array_equal(run(x, x, outs=struct(4, 3)), x + x)
        np.testing.assert_array_equal(run(x, x, launch_dims=(2, 2))[:2, :2], (x + x)[:2, :2])
        np.testing.assert_array_equal(run(x, x, outs=struct(4, 3), launch_dims=(4, 3)), x + x)
    np.testing.assert_array_equal(f(x[:2], x[:2]), 2 * x[:2])
    assert f(x, x, outs=[struct(4, 3)])[0].shape == (4, 3)
    # The default of launch_dims follows the outputs of the call, in elements of Warp's.
    at = warp_kernel(numbered, struct(1, 1, 2))(jnp.ones(1), outs=struct(3, 2, 2))
    np.testing.assert_array_equal(at[..., 0], [[0, 0], [1, 1], [2, 2]])
    assert [p.name for p in inspect.signature(f).parameters.values()] == ["x", "y", "outs", "launch_dims"]


def test_outputs_of_one_call_that_do_not_fit():
    f, x = warp_kernel(added, struct(2, 3)), jnp.ones((2, 3))
    with pytest.raises(KernelDefinitionError, match=r"has 1 outputs \(out\), but the call's outs has 2"):
        f(x, x, outs=(struct(2, 3), struct(2, 3)))
    with pytest.raises(KernelDefinitionError, match=r"launch_dims=.*Tracer.*; expected one to four integers"):
        jax.jit(lambda n: f(x, x, launch_dims=n))(2)
    with pytest.raises(KernelDefinitionError, match=r"launch_dims=2\.0"):
        f(x, x, launch_dims=2.0)
    with pytest.raises(KernelDefinitionError, match="outs holds 'a'"):
        f(x, x, outs="a")
