"""The native handler of CUDA launches, against a recorded driver: every parameter, every refusal."""

import re
import struct

import numpy as np
import pytest
from frames import STREAM, Call, metadata_of
from recording_driver import RecordingDriver

from ffi_bridge.abi import API_VERSION, CODES
from ffi_bridge.cuda.program import CudaLaunch, emit_handler
from ffi_bridge.handler.launch import LaunchBuffer, Program

KERNEL = 0xF00D


def buffer(name, shape, slots, strides=()):
    return LaunchBuffer(name, shape, ("F32", 11), 4 * int(np.prod(shape)), slots, strides)


def launch(*parameters, grid=(4, 2, 1), block=(32, 4, 2), shared=128, cooperative=False):
    return CudaLaunch("axpy", KERNEL, grid, block, shared, parameters, cooperative)


def handler(driver, launches, batch=(), shape=(6,), strides=()):
    """x and out, whose addresses go into parameters 0 and 2; 1 is the number 7."""
    structs = (bytes(8), struct.pack("<q", 7), bytes(8))
    buffers = (buffer("x", shape, ((0, 0, 0),), strides), buffer("out", shape, ((2, 0, 8),), strides))
    code = emit_handler("tested", Program(launches, structs, 1, buffers, batch), driver.functions())
    driver.kept = code
    return code.address


@pytest.fixture
def driver():
    return RecordingDriver(sizes=(8, 8, 8))


def numbers(driver):
    """The parameters of every launch, of eight bytes each."""
    return [[int.from_bytes(value, "little") for value in values] for *_, values in driver.calls]


def arrays(shape=(6,), dtype=np.float32):
    return np.zeros(shape, dtype), np.zeros(shape, dtype)


def test_a_launch_has_its_extents_stream_and_parameters(driver):
    x, out = arrays()
    assert Call([x], [out]).run(handler(driver, (launch(0, 1, 2),))) is None
    expected = [x.ctypes.data, 7, out.ctypes.data + 8]
    ((kernel, extents, stream, _),) = driver.calls
    assert (kernel, extents, stream) == (KERNEL, (4, 2, 1, 32, 4, 2, 128), STREAM)
    assert numbers(driver) == [expected]


def test_a_cooperative_launch_has_the_attribute_and_all_else(driver):
    x, out = arrays()
    launches = launch(0, 1, 2), launch(0, 1, 2, cooperative=True), launch(2, 1, 0, cooperative=True)
    assert Call([x], [out]).run(handler(driver, launches)) is None
    assert [call[:3] for call in driver.calls] == [(KERNEL, (4, 2, 1, 32, 4, 2, 128), STREAM)] * 3
    expected = [x.ctypes.data, 7, out.ctypes.data + 8]
    assert numbers(driver) == [expected, expected, expected[::-1]]
    # CU_LAUNCH_ATTRIBUTE_COOPERATIVE, padding, and a value of 64 bytes that begins with 1
    assert driver.attributes == [struct.pack("<iii60x", 2, 0, 1)] * 2


def test_launches_come_in_order_and_pick_their_parameters(driver):
    x, out = arrays()
    assert Call([x], [out]).run(handler(driver, (launch(2, 1, 0), launch(1, 1, 1, grid=(9, 1, 1))))) is None
    assert numbers(driver) == [[out.ctypes.data + 8, 7, x.ctypes.data], [7, 7, 7]]
    assert [extents[0] for _, extents, _, _ in driver.calls] == [4, 9]


def test_a_batch_is_a_loop_of_launches(driver):
    x, out = arrays((3, 6))
    address = handler(driver, (launch(0, 1, 2),), batch=(3,), shape=(3, 6), strides=(24,))
    assert Call([x], [out]).run(address) is None
    assert [words[0] - x.ctypes.data for words in numbers(driver)] == [0, 24, 48]
    assert [words[2] - out.ctypes.data for words in numbers(driver)] == [8, 32, 56]


@pytest.mark.parametrize("grid", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_an_empty_launch_is_none(driver, grid):
    x, out = arrays()
    assert Call([x], [out]).run(handler(driver, (launch(0, 1, 2, grid=grid),))) is None
    assert driver.calls == []


def test_a_failed_launch_names_kernel_error_and_extents(driver):
    driver.status = 702
    x, out = arrays()
    call = Call([x], [out])
    text = call.run(handler(driver, (launch(0, 1, 2), launch(0, 1, 2))))
    assert text == (
        "kernel 'axpy': cuLaunchKernel failed with CUDA_ERROR_LAUNCH_TIMEOUT (702); "
        "grid (4, 2, 1), block (32, 4, 2), 128 bytes of shared memory"
    )
    assert call.errors[-1][1] == CODES["XLA_FFI_Error_Code_INTERNAL"]
    assert len(driver.calls) == 1
    text = call.run(handler(driver, (launch(0, 1, 2, cooperative=True),)))
    assert "kernel 'axpy': a cooperative cuLaunchKernelEx failed with CUDA_ERROR_LAUNCH_TIMEOUT" in text


@pytest.mark.parametrize(
    ("ins", "outs", "message"),
    [
        ([], [(6,)], "expected 1 buffers in args"),
        ([(6,), (6,)], [(6,)], "expected 1 buffers in args"),
        ([(6,)], [], "expected 1 buffers in rets"),
        ([(2, 3)], [(6,)], "expected rank 1 for 'x'"),
        ([(5,)], [(6,)], r"expected shape \(6,\) for 'x'"),
        ([(6,)], [(7,)], r"expected shape \(6,\) for 'out'"),
    ],
)
def test_a_frame_of_another_program_is_refused(driver, ins, outs, message):
    call = Call([np.zeros(s, np.float32) for s in ins], [np.zeros(s, np.float32) for s in outs])
    text = call.run(handler(driver, (launch(0, 1, 2),)))
    assert re.search(message, text or "")
    assert driver.calls == []


def test_another_dtype_is_refused(driver):
    x, out = arrays()
    text = Call([x.astype(np.float64)], [out]).run(handler(driver, (launch(0, 1, 2),)))
    assert "expected dtype F32 for 'x'" in (text or "")


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_other_stages_launch_nothing(driver, stage):
    x, out = arrays()
    assert Call([x], [out], stage=stage).run(handler(driver, (launch(0, 1, 2),))) is None
    assert driver.calls == []


def test_the_handler_says_that_a_graph_may_record_it(driver):
    version, traits = metadata_of(handler(driver, (launch(0, 1, 2),)))
    assert version == API_VERSION
    assert traits == CODES["XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE"]
