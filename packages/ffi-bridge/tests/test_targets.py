"""`FrameReader` finds in a call frame what a handler in machine code finds there."""

import ctypes

import numpy as np
import pytest
from frames import STREAM, UNKNOWN_EXTENSION, Call, Record, metadata_of

from ffi_bridge.abi import API_VERSION, CODES
from ffi_bridge.targets import HANDLER, FrameReader


def reader(call: Call) -> FrameReader:
    return FrameReader(call.frame.address)


def address_of(function) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@pytest.mark.parametrize(("ins", "outs"), [(0, 0), (1, 0), (0, 1), (3, 2)])
def test_addresses_of_operands_come_before_those_of_results(ins, outs):
    operands, results = ([np.zeros(2, np.float32) for _ in range(count)] for count in (ins, outs))
    found = reader(Call(operands, results)).addresses()
    assert found == [array.ctypes.data for array in (*operands, *results)]


def test_tokens_have_no_address():
    x, y = (np.zeros(2, np.float32) for _ in range(2))
    assert reader(Call([x, None], [None, y, None])).addresses() == [x.ctypes.data, y.ctypes.data]


@pytest.mark.parametrize("stage", range(5))
def test_only_one_stage_is_execution(stage):
    execute = CODES["XLA_FFI_ExecutionStage_EXECUTE"]
    assert reader(Call([], [], stage=stage)).is_execution is (stage == execute)


def test_metadata_is_answered():
    answered = []

    def handle(address):
        answered.append(FrameReader(address).answer_metadata())

    handler = HANDLER(handle)
    assert metadata_of(address_of(handler)) == (API_VERSION, 0)
    assert answered == [True]


def test_a_frame_without_that_question_is_left_alone():
    call = Call([], [])
    assert reader(call).answer_metadata() is False
    extension = Record("XLA_FFI_InternalExtension")
    extension.put("type", UNKNOWN_EXTENSION, ctypes.c_int32)
    call.frame.put("extension_start", extension.address)
    assert reader(call).answer_metadata() is False


def test_the_stream_is_xlas_and_none_where_it_has_none():
    call = Call([], [])
    assert reader(call).stream() == STREAM
    refuse = HANDLER(lambda address: 1)
    (api,) = (kept for kept in call.frame.kept if isinstance(kept, Record))
    api.put("XLA_FFI_Stream_Get", address_of(refuse))
    assert reader(call).stream() == 0


def test_an_error_has_its_text_and_code():
    call = Call([], [])
    assert reader(call).error("kernel 'f' said: ä") == 1
    assert call.errors == [("kernel 'f' said: ä", CODES["XLA_FFI_Error_Code_INTERNAL"])]
