"""Emit the slow paths: exceptions that a Numba kernel raised become XLA FFI errors, under the GIL.

An exception of the calling thread is described at once. One of a worker thread of a parallel region
would be lost with that thread's Python state, so it is recorded in a slot, and the handler looks at the
slot's counter when the kernel has returned: every call during which an exception was recorded reports
it.
"""

import ctypes
from typing import Any, Final

from llvmlite import binding, ir

from ffi_bridge.handler.c_code import call_c, external, variable
from ffi_bridge.handler.frame import I64, NULL, POINTER, Frame, constant_text
from ffi_bridge.numba_cpu.internals import CPUCallConv

_COUNTER: Final = 0
_MESSAGE: Final = 1


class ExceptionSlot:
    """Two words: the number of exceptions recorded, and the text of the last, a Python string.

    LLVM knows their address as `symbol`.
    """

    def __init__(self, symbol: str) -> None:
        self.symbol: Final = symbol
        self._words = (ctypes.c_int64 * 2)()
        binding.add_symbol(symbol, ctypes.addressof(self._words))


def describe_exception(frame: Frame, context: Any, status: Any, kernel: str) -> Any:
    """Emit an XLA error `kernel 'f' raised ValueError: text` from Numba's `status`."""
    builder = frame.builder
    api = context.get_python_api(builder)
    gil = api.gil_ensure()
    # Numba's own: that of our target would record the exception as well.
    CPUCallConv.raise_error(context.call_conv, builder, api, status)
    message = _take_message(builder, api, kernel)
    error = _error_of(frame, api, message)
    api.decref(message)
    api.gil_release(gil)
    return error


def record_exception(builder: Any, api: Any, kernel: str, slot: str) -> None:
    """Emit the move of this thread's pending exception into the slot, under the GIL."""
    message = _take_message(builder, api, kernel)
    place = _word(builder, slot, _MESSAGE, POINTER)
    before = builder.load(place)
    builder.store(message, place)
    # NULL at first, of which `Py_DecRef` does nothing.
    api.decref(before)
    one = ir.Constant(I64, 1)
    # Last: whoever sees the new count finds the text.
    builder.atomic_rmw("add", _word(builder, slot, _COUNTER, I64), one, "seq_cst")


def count_recorded(builder: Any, slot: str) -> Any:
    """Emit the number of exceptions that were recorded so far."""
    return builder.load_atomic(_word(builder, slot, _COUNTER, I64), "seq_cst", 8)


def describe_recorded(frame: Frame, context: Any, slot: str) -> Any:
    """Emit an XLA error with the text in the slot."""
    builder = frame.builder
    api = context.get_python_api(builder)
    gil = api.gil_ensure()
    error = _error_of(frame, api, builder.load(_word(builder, slot, _MESSAGE, POINTER)))
    api.gil_release(gil)
    return error


def _take_message(builder: Any, api: Any, kernel: str) -> Any:
    """Emit the pending exception as a new Python string, or NULL; nothing is pending afterwards."""
    slots = [variable(builder, NULL, part) for part in ("kind", "value", "trace")]
    # Fetched, not read: the exception must not be pending while its text is made.
    api.err_fetch(*slots)
    # Python may keep a class and arguments; the text needs the exception itself.
    call_c(builder, "PyErr_NormalizeException", ir.VoidType(), slots)
    message = variable(builder, NULL, "message")
    value = builder.load(slots[1])
    with builder.if_then(builder.icmp_unsigned("!=", value, NULL)):
        pattern = constant_text(builder.module, "kernel '%s' raised %s: %S")
        name = call_c(builder, "PyExceptionClass_Name", POINTER, [builder.load(slots[0])])
        arguments = [pattern, constant_text(builder.module, kernel), name, value]
        builder.store(call_c(builder, "PyUnicode_FromFormat", POINTER, arguments, variadic_from=1), message)
    for slot in slots:
        api.decref(builder.load(slot))
    api.err_clear()  # the exception's own __str__ may have raised
    return builder.load(message)


def _error_of(frame: Frame, api: Any, message: Any) -> Any:
    builder = frame.builder
    unknown = constant_text(builder.module, "a kernel raised an exception that has no text")
    text = variable(builder, unknown, "text")
    with builder.if_then(builder.icmp_unsigned("!=", message, NULL)):
        builder.store(api.string_as_string(message), text)
    return frame.error("XLA_FFI_Error_Code_INTERNAL", builder.load(text))


def _word(builder: Any, slot: str, index: int, of_type: Any) -> Any:
    words = external(builder.module, slot, ir.ArrayType(I64, 2))
    place = builder.gep(words, [ir.Constant(I64, 0), ir.Constant(I64, index)])
    return builder.bitcast(place, of_type.as_pointer())
