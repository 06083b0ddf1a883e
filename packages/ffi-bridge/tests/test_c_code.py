"""LLVM verifies what the emitters make before it is compiled: what is not valid ends in an exception."""

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from llvmlite import ir
from recording_driver import RecordingDriver

from ffi_bridge import numba_kernel
from ffi_bridge.cuda import program as cuda_program
from ffi_bridge.handler.c_code import compile_function, new_module
from ffi_bridge.handler.frame import I64, Frame
from ffi_bridge.handler.launch import LaunchBuffer, Program
from ffi_bridge.warp import compile as warp_compile

INVALID = "Instruction does not dominate all uses"
BUFFERS = tuple(LaunchBuffer(name, (4,), ("F32", 11), 16, ((0, 0, 0),), ()) for name in ("x", "out"))


def use_before_definition(builder):
    """A sum that stands after what it is a part of, which can be written down and not be run."""
    zero = ir.Constant(I64, 0)
    builder.add(builder.add(zero, zero), zero)
    instructions = builder.block.instructions
    instructions[-2:] = reversed(instructions[-2:])


def for_numba():
    @numba.njit
    def for_numba_cpu(x, out):
        out[0] = x[0]

    numba_kernel(for_numba_cpu, jax.ShapeDtypeStruct((4,), jnp.float32))(np.ones(4, "f"))


def for_warp():
    program = Program((warp_compile.CpuLaunch(0, (0,)),), (bytes(8),), 1, BUFFERS, ())
    warp_compile.emit_handler("for_warp", program)


def for_cuda():
    program = Program((), (bytes(8),), 1, BUFFERS, ())
    cuda_program.emit_handler("for_cuda", program, RecordingDriver(sizes=()).functions())


@pytest.mark.parametrize("emit", [for_numba, for_warp, for_cuda])
def test_no_emitter_compiles_what_is_not_valid(emit, monkeypatch):
    before = Frame.return_unless_execute

    def emits_nonsense(frame):
        before(frame)
        use_before_definition(frame.builder)

    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", "off")  # where an earlier run has kept the kernel
    monkeypatch.setattr(Frame, "return_unless_execute", emits_nonsense)
    with pytest.raises(RuntimeError, match=INVALID):
        emit()
    monkeypatch.undo()
    emit()


def test_a_module_is_verified_before_it_is_compiled():
    module = new_module("nonsense")
    function = ir.Function(module, ir.FunctionType(I64, []), "nonsense")
    builder = ir.IRBuilder(function.append_basic_block())
    use_before_definition(builder)
    builder.ret(ir.Constant(I64, 0))
    with pytest.raises(RuntimeError, match=INVALID):
        compile_function(module, "nonsense")
