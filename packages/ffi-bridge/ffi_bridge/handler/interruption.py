"""Emit the check that ends a call from XLA when a signal has arrived, so that Ctrl-C ends loops of kernels.

XLA runs cheap programs on the thread that calls them, and counts kernels as cheap. If that is Python's main
thread, no signal reaches Python before the program is over, so the handlers look for one. Python writes the
number of each signal into a file (`signal.set_wakeup_fd`); here that is a page of memory, whose first byte
every handler loads, in no measurable time. When a signal has waited for `PATIENCE`, the native handler takes
the GIL and has Python call its signal handlers. If one of them raises, as that of Ctrl-C raises
KeyboardInterrupt, the native handler returns an error, and the exception is raised again as soon as Python
runs code. Programs that end before that are not disturbed.
"""

import ctypes
import functools
import mmap
import os
import signal
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final

from llvmlite import binding, ir

from ffi_bridge.handler.c_code import call_c, compile_module, external
from ffi_bridge.handler.frame import I8, I32, Frame

SIGNAL: Final = "ffi_bridge_signal"
INTERRUPTED: Final = "ffi_bridge_interrupted"
PATIENCE: Final = 1_000_000_000  # nanoseconds

_TEXT: Final = Template(Path(__file__).with_name("interruption.ll").read_text())
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
    # Python's C handler writes it in any thread; no other memory depends on the order.
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
        # It belongs to somebody else, such as asyncio: that one goes on getting the signals.
        if before not in (-1, watch.file):
            signal.set_wakeup_fd(before)


@functools.cache
def _watch() -> Watch:
    file = _new_file()
    os.set_blocking(file, False)  # as Python requires
    # A page of zeros: the first byte is 0 until Python writes a signal's number there.
    os.ftruncate(file, mmap.PAGESIZE)
    memory = mmap.mmap(file, mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    binding.add_symbol(SIGNAL, address)
    for name in _PYTHON:
        binding.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    text = _TEXT.substitute(
        FILE=file,
        # Python runs handlers of signals in this thread alone.
        MAIN_THREAD=threading.main_thread().ident,
        PATIENCE=PATIENCE,
        CLOCK_MONOTONIC=time.CLOCK_MONOTONIC,
        SEEK_SET=os.SEEK_SET,
    )
    # It runs once a signal waits: to optimise it would gain nothing.
    engine = compile_module(text, opt=0)
    binding.add_symbol(INTERRUPTED, engine.get_function_address(INTERRUPTED))
    return Watch(file, memory, engine)


def _new_file() -> int:
    """Open a file without a name, in memory where the system can."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("signals")
    file, path = tempfile.mkstemp()
    os.unlink(path)
    return file
