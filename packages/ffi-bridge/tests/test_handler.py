"""A native handler refuses every frame it was not compiled for, and answers XLA's questions."""

import ctypes

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from frames import UNKNOWN_EXTENSION, Call, Record, last_address, metadata_of

from ffi_bridge import numba_kernel
from ffi_bridge.abi import API_VERSION, CODES

pytestmark = pytest.mark.promise(4)


@numba.njit
def framed_add(x, y, out):
    for i in range(out.size):
        out[i] = x[i] + y[i]


@numba.njit
def framed_subtract(x, y, out):
    for i in range(out.size):
        out[i] = x[i] - y[i]


@pytest.fixture(scope="module")
def address():
    numba_kernel(framed_add, jax.ShapeDtypeStruct((4,), jnp.float32))(jnp.ones(4), jnp.ones(4))
    return last_address(framed_add)


@pytest.fixture(scope="module")
def batched():
    """Two levels: x has an axis for both, y for the inner one."""
    subtract = numba_kernel(framed_subtract, jax.ShapeDtypeStruct((4,), jnp.float32))
    jax.vmap(jax.vmap(subtract), (0, None))(jnp.ones((5, 2, 4)), jnp.ones((2, 4)))
    return last_address(framed_subtract)


def vector(dtype=np.float32, ndim=1):
    return np.ones((4,) * ndim, dtype)


def test_a_right_frame_runs(address):
    out = np.zeros(4, np.float32)
    assert Call([vector(), vector()], [out]).run(address) is None
    np.testing.assert_array_equal(out, 2)


@pytest.mark.promise(1)
def test_an_ordered_handler_has_a_token_on_either_side():
    @numba.njit
    def framed_copy(x, out):
        out[:] = x

    numba_kernel(framed_copy, jax.ShapeDtypeStruct((4,), jnp.float32), ordered=True)(jnp.ones(4))
    address, out = last_address(framed_copy), np.zeros(4, np.float32)
    assert Call([vector(), None], [out, None]).run(address) is None
    np.testing.assert_array_equal(out, 1)
    assert "expected 2 buffers in args" in (Call([vector()], [out, None]).run(address) or "")
    assert "expected 2 buffers in rets" in (Call([vector(), None], [out]).run(address) or "")


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    ("ins", "outs", "message"),
    [
        ([vector()], [vector()], "expected 2 buffers in args"),
        ([vector(), vector(), vector()], [vector()], "expected 2 buffers in args"),
        ([vector(), vector()], [], "expected 1 buffers in rets"),
        ([vector(), vector(ndim=2)], [vector()], "expected rank 1 for 'y'"),
        ([vector(), vector(ndim=0)], [vector()], "expected rank 1 for 'y'"),
        ([vector(np.float64), vector()], [vector()], "expected dtype F32 for 'x'"),
        ([vector(), vector()], [vector(np.int32)], "expected dtype F32 for 'out'"),
    ],
)
def test_a_wrong_frame_is_refused_and_nothing_is_written(address, ins, outs, message):
    before = [out.copy() for out in outs]
    call = Call(ins, outs)
    text = call.run(address)
    assert text is not None
    assert message in text
    assert "framed_add" in text
    assert call.errors[-1][1] == CODES["XLA_FFI_Error_Code_INVALID_ARGUMENT"]
    for out, old in zip(outs, before, strict=True):
        np.testing.assert_array_equal(out, old)


def test_a_batch_of_another_size_runs(batched):
    x, y = (np.random.default_rng(0).random(shape).astype("f") for shape in ((3, 6, 4), (6, 4)))
    out = np.zeros((3, 6, 4), np.float32)
    assert Call([x, y], [out]).run(batched) is None
    np.testing.assert_array_equal(out, x - y)


@pytest.mark.parametrize(
    ("x", "y", "name"), [((2, 6, 4), (6, 4), "x"), ((3, 5, 4), (6, 4), "x"), ((3, 6, 4), (3, 4), "y")]
)
def test_inputs_of_other_batches_than_the_output_are_refused(batched, x, y, name):
    out = np.zeros((3, 6, 4), np.float32)
    text = Call([np.ones(x, "f"), np.ones(y, "f")], [out]).run(batched)
    assert f"expected the outputs' batch size for '{name}'" in (text or "")
    assert not out.any()


@pytest.mark.parametrize("stage", [0, 1, 2, 4])
def test_other_stages_do_nothing(address, stage):
    out = np.zeros(4, np.float32)
    assert Call([vector(), vector()], [out], stage=stage).run(address) is None
    assert not out.any()


def test_metadata_is_answered(address):
    assert metadata_of(address) == (API_VERSION, 0)


def test_an_unknown_extension_does_not_stop_a_call(address):
    out = np.zeros(4, np.float32)
    call = Call([vector(), vector()], [out])
    extension = Record("XLA_FFI_InternalExtension")
    extension.put("type", UNKNOWN_EXTENSION, ctypes.c_int32)
    call.frame.put("extension_start", extension.address)
    assert call.run(address) is None
    np.testing.assert_array_equal(out, 2)
