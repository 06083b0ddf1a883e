"""Warp kernels on a GPU, as far as a machine without one can tell: machine code, parameters, launches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from frames import STREAM
from recording_driver import RecordingDriver
from warp_programs import lowered, run

pytest.importorskip("warp", reason="warp-lang is not installed")

import warp as wp

from ffi_bridge import warp_callable, warp_kernel
from ffi_bridge.errors import KernelDefinitionError

F32 = jnp.float32
ARRAY = 56  # bytes of Warp's array_t


@wp.kernel
def scaled(x: wp.array(dtype=float), a: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i]


@wp.kernel(enable_backward=False)
def grid_of(m: wp.mat22, y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[i, j] = m[0, 1] * float(i)


@wp.kernel(enable_backward=False)
def one_way(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]


@pytest.fixture
def driver(monkeypatch):
    recording = RecordingDriver()
    monkeypatch.setattr("ffi_bridge.warp.cuda.cuda_driver", lambda: recording)
    return recording


def test_a_launch_has_the_parameters_that_the_machine_code_expects(driver):
    f = warp_kernel(scaled, jax.ShapeDtypeStruct((1000,), F32))
    (name,) = lowered(lambda x: f(x, 2.5), jnp.ones(1000))
    x, y = np.ones(1000, np.float32), np.zeros(1000, np.float32)
    run(name, [x], [y])
    ((kernel, extents, stream, (bounds, first, scalar, second)),) = driver.calls
    assert (kernel, stream, extents) == (1, STREAM, (4, 1, 1, 256, 1, 1, 0))
    assert int.from_bytes(bounds[:4], "little") == 1000
    assert np.frombuffer(scalar, np.float32) == 2.5
    for struct, array in ((first, x), (second, y)):
        assert len(struct) == ARRAY
        assert int.from_bytes(struct[:8], "little") == array.ctypes.data
        assert int.from_bytes(struct[16:20], "little") == 1000


def test_the_adjoint_has_adjoints_behind_the_arguments(driver):
    f = warp_kernel(scaled, jax.ShapeDtypeStruct((8,), F32), differentiable=True)
    names = lowered(jax.grad(lambda x: f(x, 2.0).sum()), jnp.ones(8))
    x, y, of_x, of_y = (np.zeros(8, np.float32) for _ in range(4))
    # Arguments as the kernel left them, then the adjoints in and out.
    outs = [of_x.copy(), of_y.copy()]
    run(names[-1], [x, y, of_x, of_y], outs)
    (*_, (bounds, first, _, second, adjoint, _, _)) = driver.calls[-1]
    assert len(bounds) == 24
    assert [int.from_bytes(s[:8], "little") for s in (first, second)] == [x.ctypes.data, y.ctypes.data]
    assert len(adjoint) == ARRAY
    # Warp's views of an array find their adjoint through `grad`, the second word of the array.
    assert [int.from_bytes(s[8:16], "little") for s in (first, second)] == [out.ctypes.data for out in outs]
    assert driver.loaded[-1][0].entry.endswith("_cuda_kernel_backward")


def test_dimensions_blocks_and_matrices(driver):
    f = warp_kernel(grid_of, jax.ShapeDtypeStruct((30, 20), F32), block_dim=128)
    (name,) = lowered(lambda: f(((1.0, 2.0), (3.0, 4.0))))
    run(name, [], [np.zeros((30, 20), np.float32)])
    ((_, extents, _, (bounds, matrix, _)),) = driver.calls
    assert extents == (5, 1, 1, 128, 1, 1, 0)
    assert np.frombuffer(bounds[:8], np.uint32).tolist() == [30, 20]
    assert np.frombuffer(matrix, np.float32).tolist() == [1, 2, 3, 4]


def twice_scaled(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    half = wp.empty(4, dtype=float)
    wp.launch(scaled, dim=4, inputs=[x[2:6], 2.0], outputs=[half])
    wp.launch(scaled, dim=4, inputs=[half, 3.0], outputs=[y[:4]], block_dim=32)


def test_launches_of_a_function_are_in_order_on_the_stream(driver):
    f = warp_callable(twice_scaled, jax.ShapeDtypeStruct((8,), F32))
    (name,) = lowered(f, jnp.ones(8))
    x, y, half = np.ones(8, np.float32), np.ones(8, np.float32), np.zeros(16, np.uint8)
    run(name, [x], [y, half])
    places = [x.ctypes.data + 8, half.ctypes.data, half.ctypes.data, y.ctypes.data]
    (_, first, stream, (_, x_1, a_1, y_1)), (_, second, _, (_, x_2, a_2, y_2)) = driver.calls
    assert stream == STREAM
    assert (first, second) == ((1, 1, 1, 256, 1, 1, 0), (1, 1, 1, 32, 1, 1, 0))
    assert [int.from_bytes(struct[:8], "little") for struct in (x_1, y_1, x_2, y_2)] == places
    assert [np.frombuffer(a, np.float32).item() for a in (a_1, a_2)] == [2, 3]


def test_a_batch_of_a_function_is_one_launch_of_each_kernel(driver):
    f = warp_callable(twice_scaled, jax.ShapeDtypeStruct((8,), F32))
    (name,) = lowered(jax.vmap(f), jnp.ones((3, 8)))
    x, y, half = np.ones((3, 8), np.float32), np.ones((3, 8), np.float32), np.zeros((3, 16), np.uint8)
    run(name, [x], [y, half])
    assert [extents[:3] for _, extents, _, _ in driver.calls] == [(1, 3, 1), (1, 3, 1)]
    # Bytes from one element to the next: of x and of the temporary behind all of a launch's own parameters.
    strides = [[np.frombuffer(s, np.int64).item() for s in p[6::2]] for _, _, _, p in driver.calls]
    assert strides == [[32, 16], [16, 32]]


def test_an_empty_launch_is_none(driver):
    f = warp_kernel(scaled, jax.ShapeDtypeStruct((0,), F32))
    (name,) = lowered(lambda x: f(x, 2.0), jnp.ones(0))
    run(name, [np.ones(0, np.float32)], [np.ones(0, np.float32)])
    assert driver.calls == []


def test_without_an_adjoint_the_error_says_so(driver):
    f = warp_kernel(one_way, jax.ShapeDtypeStruct((3,), F32), differentiable=True)
    with pytest.raises(KernelDefinitionError, match="'one_way' has no adjoint"):
        lowered(jax.grad(lambda x: f(x).sum()), jnp.ones(3))
