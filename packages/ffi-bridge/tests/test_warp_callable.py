"""`warp_callable`: what a function launches is noted once, and replayed by a native handler."""

import functools
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("warp", reason="warp-lang is not installed")

import warp as wp
from warp_functions import X, cube, multiplied, out, scaled

from ffi_bridge import debug, warp_callable
from ffi_bridge.errors import KernelDefinitionError


@wp.kernel
def accumulated(x: wp.array[float], total: wp.array[float]):
    wp.atomic_add(total, 0, x[wp.tid()])


@wp.kernel
def turned(v: wp.array2d[wp.vec3], axis: wp.vec3, w: wp.array2d[wp.vec3]):
    i, j = wp.tid()
    w[i, j] = wp.cross(axis, v[i, j])


@wp.kernel
def beyond(y: wp.array[float]):
    y[y.shape[0]] = 1.0


@wp.struct
class Gains:
    first: float
    second: float


@wp.kernel
def with_gains(gains: Gains, x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    y[i] = gains.first * x[i] + gains.second


def test_kernels_run_in_order_over_a_temporary():
    f = warp_callable(cube, out(10))
    np.testing.assert_array_equal(f(X), X**3)
    np.testing.assert_array_equal(jax.jit(lambda x: f(f(x) + 1))(X), (X**3 + 1) ** 3)
    np.testing.assert_array_equal(jax.lax.fori_loop(0, 3, lambda _, x: f(x) / 9, X), functools.reduce(
        lambda x, _: x**3 / 9, range(3), X))  # fmt: skip


def test_the_function_runs_once_for_every_set_of_static_values():
    runs = []

    def counted(x: wp.array[float], factor: float, y: wp.array[float]):
        runs.append(factor)
        wp.launch(scaled, dim=x.shape, inputs=[x, factor], outputs=[y])

    f = warp_callable(counted, out(10))
    for factor in (2.0, 2.0, 3.0, 2.0):
        np.testing.assert_array_equal(f(X, factor), factor * X)
    assert runs == [2.0, 3.0]


def test_one_function_wrapped_often_is_one_target():
    texts = {jax.jit(lambda x: warp_callable(cube, out(10))(x)).lower(X).as_text() for _ in range(3)}
    assert len(texts) == 1
    assert "cube.warp." in texts.pop()


def test_parts_of_arrays():
    def function(x: wp.array[float], y: wp.array2d[float]):
        y.zero_()
        wp.launch(scaled, dim=4, inputs=[x[2:6], 1.0], outputs=[y[0]])
        wp.launch(scaled, dim=2, inputs=[x[1:9:4], 10.0], outputs=[y.reshape((8,))[5:7]])

    expected = np.zeros((2, 4), np.float32)
    expected[0], expected[1, 1:3] = [2, 3, 4, 5], [10, 50]
    np.testing.assert_array_equal(warp_callable(function, out(2, 4))(X), expected)


def test_arrays_that_a_function_makes_fills_and_copies():
    def function(x: wp.array2d[float], y: wp.array2d[float], z: wp.array[wp.vec2], n: wp.array[int]):
        ones = wp.ones_like(x)
        total = wp.zeros(1, dtype=float)
        wp.launch(accumulated, dim=6, inputs=[x.flatten(), total])
        wp.copy(y, ones)
        y[1:].fill_(7.0)
        wp.copy(y.transpose((1, 0))[0:2], x.transpose((1, 0))[0:2])  # two columns, which are not contiguous
        wp.copy(y, total, dest_offset=5, count=1)
        y.transpose((1, 0))[2:3, 0:1].fill_(-1.0)
        z.fill_(wp.vec2(1.0, 2.0))
        wp.copy(n, wp.full(3, 4, dtype=int))

    x = jnp.arange(6.0).reshape(2, 3)
    y, z, n = warp_callable(function, (out(2, 3), out(2, 2), out(3, dtype=jnp.int32)))(x)
    np.testing.assert_array_equal(y, [[0, 1, -1], [3, 4, 15]])
    np.testing.assert_array_equal(z, [[1, 2], [1, 2]])
    assert n.tolist() == [4, 4, 4]


def test_vectors_structs_and_launches_with_a_size_of_block():
    def function(
        v: wp.array2d[wp.vec3],
        axis: wp.vec3,
        gains: Gains,
        w: wp.array2d[wp.vec3],
        y: wp.array[float],
    ):
        assert v.shape == (2, 2)
        assert v.dtype is wp.vec3
        wp.launch(turned, dim=v.shape, inputs=[v, 2.0 * axis], outputs=[w], block_dim=64)
        y.fill_(gains.first)
        wp.launch(with_gains, dim=y.shape, inputs=[gains, y], outputs=[y], device=y.device)

    gains, v = Gains(), jnp.arange(12.0).reshape(2, 2, 3)
    gains.first, gains.second = 2.0, 0.5
    w, y = warp_callable(function, (out(2, 2, 3), out(3)))(v, (0.0, 0.0, 1.0), gains)
    np.testing.assert_array_equal(w, jnp.cross(jnp.array([0.0, 0.0, 2.0]), v))
    assert y.tolist() == [4.5, 4.5, 4.5]


@wp.kernel
def taken_apart(given: wp.array[Gains], y: wp.array[float]):
    i = wp.tid()
    y[i] = given[i].first + given[i].second


def test_temporaries_of_structs():
    def function(x: wp.array[float], y: wp.array[float]):
        gains = Gains()
        gains.first, gains.second = 2.0, 0.5
        of_zeros = wp.zeros(4, dtype=Gains)
        wp.launch(taken_apart, dim=4, inputs=[of_zeros, y[:4]])
        wp.launch(taken_apart, dim=6, inputs=[wp.full(6, gains, dtype=Gains), y[4:]])

    assert warp_callable(function, out(10))(X).tolist() == [0] * 4 + [2.5] * 6


def test_half_precision_and_waiting():
    def function(x: wp.array[wp.float16], y: wp.array[wp.float16]):
        y.fill_(1.5)
        wp.synchronize()
        wp.synchronize_device(x.device)
        wp.copy(y[:2], x[:2])

    y = warp_callable(function, out(4, dtype=jnp.float16))(jnp.arange(4).astype(jnp.float16))
    assert y.tolist() == [0, 1, 1.5, 1.5]


def accumulate(x: wp.array[float], total: wp.array[float], doubled: wp.array[float]):
    wp.launch(scaled, dim=x.shape, inputs=[x, 2.0], outputs=[doubled])
    wp.launch(accumulated, dim=x.shape, inputs=[doubled, total])


def test_an_array_is_updated_in_place_and_the_one_given_stays():
    f = warp_callable(accumulate, (out(1), out(10)), in_out_argnames=["total"])
    start = jnp.ones(1)
    total, doubled = f(X, start)
    assert (total.item(), start.item()) == (91.0, 1.0)
    np.testing.assert_array_equal(doubled, 2 * X)
    donated = jax.jit(f, donate_argnums=1)(X, jnp.ones(1))[0]
    assert donated.item() == 91.0
    # Under vmap every element has its own.
    totals, _ = jax.vmap(f, (0, None))(jnp.stack([X, X + 1]), start)
    assert totals.tolist() == [[91.0], [111.0]]


@pytest.mark.parametrize("method", [None, "sequential"])
def test_vmap_nested_and_over_some_arguments(method):
    def function(x: wp.array[float], y: wp.array[float], z: wp.array[float]):
        total = wp.zeros(5, dtype=float)
        wp.launch(multiplied, dim=5, inputs=[x[0:10:2], y[1:6]], outputs=[total])
        wp.launch(scaled, dim=5, inputs=[total, 2.0], outputs=[z])

    f = jax.vmap(jax.vmap(warp_callable(function, out(5), vmap_method=method), (None, 0)), (0, None))
    xs, ys = jnp.stack([X, X + 1, X * 2]), jnp.stack([X, X - 1])
    np.testing.assert_array_equal(f(xs, ys), 2 * xs[:, None, ::2] * ys[None, :, 1:6])


def test_outputs_of_one_call_and_arrays_without_elements():
    f = warp_callable(cube, out(10))
    np.testing.assert_array_equal(f(X[:3], outs=out(3)), X[:3] ** 3)
    assert f(X[:0], outs=out(0)).shape == (0,)
    assert f(jnp.float32(2), outs=out()).item() == 8
    with pytest.raises(KernelDefinitionError, match=r"function 'cube' has 1 outputs \(y\), but"):
        f(X, outs=(out(3), out(3)))


def test_other_threads_launch_and_allocate_as_ever():
    seen = []

    def elsewhere():
        y = wp.zeros(3, dtype=float, device="cpu")
        wp.launch(scaled, dim=3, inputs=[wp.array([1, 2, 3], dtype=float), 2.0], outputs=[y])
        seen.append(y.numpy().tolist())

    def function(x: wp.array[float], y: wp.array[float]):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        wp.launch(scaled, dim=x.shape, inputs=[x, 2.0], outputs=[y])

    np.testing.assert_array_equal(warp_callable(function, out(10))(X), 2 * X)
    assert seen == [[2.0, 4.0, 6.0]]
    elsewhere()  # and so does this one, afterwards
    assert len(seen) == 2


def test_the_debug_mode_sees_writes_beside_temporaries():
    def function(x: wp.array[float], y: wp.array[float]):
        scratch = wp.empty(3, dtype=float)
        wp.launch(beyond, dim=1, inputs=[scratch])
        wp.launch(scaled, dim=x.shape, inputs=[x, 2.0], outputs=[y])

    with debug.guarded():
        with pytest.raises(
            jax.errors.JaxRuntimeError, match="'function' wrote behind its output 'temporary 0'"
        ):
            jax.block_until_ready(warp_callable(function, out(10))(X))
        np.testing.assert_array_equal(warp_callable(cube, out(10))(X), X**3)
