"""Batches of Warp kernels on a GPU, as far as one can tell without it: launches and their parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from recording_driver import RecordingDriver
from warp_programs import lowered, run

pytest.importorskip("warp", reason="warp-lang is not installed")

import warp as wp

from ffi_bridge import warp_kernel
from ffi_bridge.warp.batch import takes_batch

F32 = jnp.float32


@wp.kernel
def scaled(x: wp.array(dtype=float), a: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i]


@wp.kernel
def added(x: wp.array(dtype=float), b: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * b[i]


@wp.kernel(enable_backward=False)
def chosen(x: wp.array(dtype=float), b: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if i > 1:
        x = b
    y[i] = x[i]


@wp.kernel(enable_backward=False)
def four(first: wp.array4d(dtype=float), sizes: int, y: wp.array4d(dtype=wp.vec2)):
    i, j, k, l = wp.tid()
    y[i, j, k, l] = wp.vec2(first[i, j, k, l], float(sizes))


@wp.kernel
def tiled(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i, _ = wp.tid()
    tile = wp.tile_load(x, shape=32, offset=i * 32, storage="shared")
    wp.tile_store(y, 2.0 * tile, offset=i * 32)


@pytest.fixture
def driver(monkeypatch):
    recording = RecordingDriver()
    monkeypatch.setattr("ffi_bridge.warp.cuda.cuda_driver", lambda: recording)
    return recording


def zeros(*shape):
    return np.zeros(shape, np.float32)


def address(struct, offset=0):
    return int.from_bytes(struct[offset : offset + 8], "little")


def levels(struct, dtype=np.int64):
    return np.frombuffer(struct, dtype).tolist()


def test_a_batch_is_one_launch(driver):
    f = warp_kernel(scaled, jax.ShapeDtypeStruct((600,), F32))
    (name,) = lowered(jax.vmap(lambda x: f(x, 2.0)), jnp.ones((3, 600)))
    x, y = zeros(3, 600), zeros(3, 600)
    run(name, [x], [y])
    ((_, extents, _, parameters),) = driver.calls
    assert extents == (3, 3, 1, 256, 1, 1, 0)
    bounds, of_x, a, of_y, first, sizes, *strides = parameters
    assert address(bounds) == 600  # of one element, as wp.tid() counts
    assert (address(of_x), address(of_y)) == (x.ctypes.data, y.ctypes.data)
    assert levels(of_x[16:20], np.int32) == [600]
    assert (levels(a, np.float32), levels(first, np.uint32), levels(sizes, np.uint32)) == ([2], [0], [3])
    assert list(map(levels, strides)) == [[2400], [2400], [2400], [2400]]


def test_levels_that_an_array_lacks_have_a_stride_of_0(driver):
    f = warp_kernel(added, jax.ShapeDtypeStruct((8,), F32))
    nested = jax.vmap(jax.vmap(f, (0, None)), (None, 0))
    (name,) = lowered(nested, jnp.ones((3, 8)), jnp.ones((2, 8)))
    run(name, [zeros(3, 8), zeros(2, 8)], [zeros(2, 3, 8)])
    ((_, extents, _, (*_, sizes, of_x, _, of_b, _, of_y, _)),) = driver.calls
    assert extents[:3] == (1, 6, 1)
    assert levels(sizes, np.uint32) == [2, 3]
    assert list(map(levels, (of_x, of_b, of_y))) == [[0, 32], [32, 0], [96, 32]]


def test_an_adjoint_has_strides_of_its_own(driver):
    f = warp_kernel(added, jax.ShapeDtypeStruct((8,), F32), differentiable=True)
    gradient = jax.grad(lambda x, b: f(x, b).sum(), (0, 1))
    names = lowered(jax.vmap(gradient, (0, None)), jnp.ones((3, 8)), jnp.ones(8))
    x, b, y = zeros(3, 8), zeros(8), zeros(3, 8)
    starts, outs = [zeros(3, 8) for _ in range(3)], [zeros(3, 8) for _ in range(3)]
    run(names[-1], [x, b, y, *starts], outs)
    ((_, extents, _, parameters),) = driver.calls
    assert extents[:3] == (1, 3, 1)
    arguments, of_batch = parameters[1:4], parameters[6:12]
    assert [address(s) for s in arguments] == [x.ctypes.data, b.ctypes.data, y.ctypes.data]
    assert [address(s, 8) for s in arguments] == [out.ctypes.data for out in outs]
    assert list(map(levels, of_batch)) == [[32], [32], [0], [32], [32], [32]]
    assert len(parameters) == 1 + 2 * 11
    assert all(address(s) == 0 for s in parameters[12:15])


@pytest.mark.parametrize(
    ("count", "launches"),
    [
        (0, []),
        (65535, [(0, 65535, 1)]),
        (65536, [(0, 65535, 1), (65535, 1, 1)]),
        (200000, [(0, 65535, 3), (196605, 3395, 1)]),
    ],
)
def test_a_long_batch_takes_the_third_axis_and_one_launch_more(driver, count, launches):
    f = warp_kernel(scaled, jax.ShapeDtypeStruct((1,), F32))
    (name,) = lowered(jax.vmap(lambda x: f(x, 2.0)), jnp.ones((count, 1)))
    run(name, [zeros(count, 1)], [zeros(count, 1)])
    assert [(levels(p[4], np.uint32)[0], *extents[1:3]) for _, extents, _, p in driver.calls] == launches


def test_a_kernel_that_renames_its_arrays_is_launched_for_each_element(driver):
    assert not takes_batch(chosen)
    f = warp_kernel(chosen, jax.ShapeDtypeStruct((4,), F32))
    (name,) = lowered(jax.vmap(f, (0, None)), jnp.ones((3, 4)), jnp.ones(4))
    x, b = zeros(3, 4), zeros(4)
    run(name, [x, b], [zeros(3, 4)])
    places = [(address(of_x), address(of_b)) for *_, (_, of_x, of_b, _) in driver.calls]
    assert places == [(x.ctypes.data + 16 * i, b.ctypes.data) for i in range(3)]


def test_four_dimensions_and_any_names(driver):
    f = warp_kernel(four, jax.ShapeDtypeStruct((2, 3, 4, 5, 2), F32))
    (name,) = lowered(jax.vmap(lambda x: f(x, 7)), jnp.ones((6, 2, 3, 4, 5)))
    run(name, [zeros(6, 2, 3, 4, 5)], [zeros(6, 2, 3, 4, 5, 2)])
    ((_, extents, _, parameters),) = driver.calls
    assert extents[:3] == (1, 6, 1)
    assert levels(parameters[0][:16], np.uint32) == [2, 3, 4, 5]
    assert [levels(s) for s in parameters[6::2]] == [[480], [960]]


def test_tiles_in_shared_memory(driver):
    out = jax.ShapeDtypeStruct((64,), F32)
    f = warp_kernel(tiled, out, launch_dims=(2, 64), block_dim=64, differentiable=True)
    names = lowered(jax.vmap(jax.grad(lambda x: f(x).sum())), jnp.ones((3, 64)))
    run(names[-1], [zeros(3, 64) for _ in range(4)], [zeros(3, 64) for _ in range(2)])
    ((_, extents, _, _),) = driver.calls
    assert extents[:6] == (2, 3, 1, 64, 1, 1)
    assert extents[6] > 0
