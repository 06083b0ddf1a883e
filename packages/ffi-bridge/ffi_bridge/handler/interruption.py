"""Emit the check that ends a call from XLA when a signal has arrived, so that Ctrl-C ends loops of kernels.

XLA runs cheap programs on the thread that calls them, and counts kernels as cheap. If that is Python's main
thread, no signal reaches Python before the program is over, so the handlers look for one. Python writes the
number of each signal into a file (`signal.set_wakeup_fd`); here that is a page of memory, whose first byte
every handler loads, in no measurable time. When a signal has waited for `PATIENCE`, the native handler takes
the GIL and has Python call its signal handlers. If one of them raises, as that of Ctrl-C raises
KeyboardInterrupt, the native handler returns an error, and the exception is raised again as soon as Python
runs code. Programs that end before that are not disturbed.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import signal
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import Any, Final

from llvmlite import binding, ir

from ffi_bridge.handler.c_code import (
    begin_function,
    call_c,
    compile_module,
    external,
    load_member,
    member,
    new_module,
)
from ffi_bridge.handler.frame import I8, I32, I64, POINTER, Frame

SIGNAL: Final = "ffi_bridge_signal"
INTERRUPTED: Final = "ffi_bridge_interrupted"
PATIENCE: Final = 1_000_000_000  # nanoseconds

_EXCEPTION: Final = ir.LiteralStructType((POINTER, POINTER, POINTER))  # its type, value and traceback
_TIME: Final = ir.LiteralStructType((I64, I64))  # C's timespec
_PYTHON: Final = (
    *("PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals"),
    *("PyErr_Fetch", "PyErr_Restore", "Py_AddPendingCall"),
)


@dataclass(frozen=True)
class Watch:
    """The file that Python notes signals in, its memory, and the machine code that looks at it."""

    file: int
    memory: object
    code: object


def return_if_interrupted(frame: Frame) -> None:
    """Emit a return with an error if a signal has waited and its handler in Python raised an exception."""
    watch_signals()
    builder = frame.builder
    arrived = builder.load_atomic(external(builder.module, SIGNAL, I8), "monotonic", 1)
    with builder.if_then(builder.icmp_unsigned("!=", arrived, ir.Constant(I8, 0)), likely=False):
        raised = call_c(builder, INTERRUPTED, I32, [])
        with builder.if_then(builder.icmp_unsigned("!=", raised, ir.Constant(I32, 0)), likely=False):
            frame.fail("interrupted: the handler of a signal raised an exception, which is raised next")


def watch_signals() -> None:
    """Have Python note signals in our memory, and LLVM know its address.

    Where another library has called `signal.set_wakeup_fd`, its file stays in force; and Python allows the
    call in the main thread only. In both cases signals arrive when a program is over.
    """
    watch = _watch()
    if threading.current_thread() is threading.main_thread():
        before = signal.set_wakeup_fd(watch.file, warn_on_full_buffer=False)
        if before not in (-1, watch.file):
            signal.set_wakeup_fd(before)


@functools.cache
def _watch() -> Watch:
    file = _new_file()
    os.set_blocking(file, False)  # as Python requires
    os.ftruncate(file, mmap.PAGESIZE)
    memory = mmap.mmap(file, mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    binding.add_symbol(SIGNAL, address)
    for name in _PYTHON:
        found = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        binding.add_symbol(name, found)
    engine = compile_module(_emit_interrupted(file, threading.main_thread().ident), opt=0)
    binding.add_symbol(INTERRUPTED, engine.get_function_address(INTERRUPTED))
    return Watch(file, memory, engine)


def _new_file() -> int:
    """Open a file without a name, in memory where the system can."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("signals")
    file, path = tempfile.mkstemp()
    os.unlink(path)
    return file


def _emit_interrupted(file: int, main_thread: int | None) -> Any:
    """Return a module with the function INTERRUPTED, which is not 0 if a signal's handler raised."""
    module = new_module("ffi_bridge_interruption")
    since: Any = ir.GlobalVariable(module, I64, "since")  # when the signal was seen first, or 0
    since.initializer = ir.Constant(I64, 0)
    builder, _ = begin_function(module, INTERRUPTED, ir.FunctionType(I32, ()))
    no, zero = ir.Constant(I32, 0), ir.Constant(I64, 0)
    here = call_c(builder, "pthread_self", I64, [])
    with builder.if_then(builder.icmp_unsigned("!=", here, ir.Constant(I64, main_thread))):
        builder.ret(no)
    now, seen = _now(builder), builder.load(since)
    with builder.if_then(builder.icmp_unsigned("==", seen, zero)):
        builder.store(now, since)
        builder.ret(no)
    waited = builder.sub(now, seen)
    with builder.if_then(builder.icmp_unsigned("<", waited, ir.Constant(I64, PATIENCE))):
        builder.ret(no)
    # Reset before Python looks for signals, so that none is lost that arrives meanwhile.
    call_c(builder, "lseek", I64, [ir.Constant(I32, file), zero, ir.Constant(I32, os.SEEK_SET)])
    builder.store(ir.Constant(I8, 0), external(module, SIGNAL, I8))
    builder.store(zero, since)
    gil = call_c(builder, "PyGILState_Ensure", I32, [])
    raised = call_c(builder, "PyErr_CheckSignals", I32, [])
    with builder.if_then(builder.icmp_signed("!=", raised, no)):
        _raise_later(builder, _emit_raise_again(module))
    call_c(builder, "PyGILState_Release", ir.VoidType(), [gil])
    builder.ret(raised)
    return module


def _now(builder: Any) -> Any:
    """Return the nanoseconds of a clock that nobody sets."""
    found, clock = builder.alloca(_TIME), ir.Constant(I32, time.CLOCK_MONOTONIC)
    call_c(builder, "clock_gettime", I32, [clock, builder.bitcast(found, POINTER)])
    seconds = builder.mul(load_member(builder, found, 0), ir.Constant(I64, 1_000_000_000))
    return builder.add(seconds, load_member(builder, found, 1))


def _raise_later(builder: Any, raise_again: Any) -> None:
    """Take the pending exception and have Python raise it as soon as it runs code; the GIL is held."""
    kept = call_c(builder, "malloc", POINTER, [ir.Constant(I64, 24)])
    parts = builder.bitcast(kept, _EXCEPTION.as_pointer())
    call_c(builder, "PyErr_Fetch", ir.VoidType(), [member(builder, parts, i) for i in range(3)])
    call_c(builder, "Py_AddPendingCall", I32, [raise_again, kept])


def _emit_raise_again(module: Any) -> Any:
    """Return a function for `Py_AddPendingCall` that raises the exception at the address it is given."""
    builder, (kept,) = begin_function(module, "raise_again", ir.FunctionType(I32, (POINTER,)))
    parts = builder.bitcast(kept, _EXCEPTION.as_pointer())
    exception = [load_member(builder, parts, i) for i in range(3)]
    call_c(builder, "free", ir.VoidType(), [kept])
    call_c(builder, "PyErr_Restore", ir.VoidType(), exception)
    builder.ret(ir.Constant(I32, -1))
    return builder.function
