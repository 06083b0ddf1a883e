"""Compile a Numba dispatcher for the arrays of one call, with its handler."""

import dis
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import CodeType
from typing import Any

import numba
from numba import types

from ffi_bridge.errors import KernelTypeError
from ffi_bridge.identity import internals
from ffi_bridge.identity.callees import compiled_callees, compiled_now
from ffi_bridge.identity.references import references
from ffi_bridge.numba_cpu import error_messages, object_code
from ffi_bridge.numba_cpu.compiler import Compiler, NativeContext, with_constants
from ffi_bridge.numba_cpu.emit import emit_handler
from ffi_bridge.numba_cpu.exception import ExceptionSlot
from ffi_bridge.numba_cpu.internals import PARALLEL_FOR, CompileResult, linked_functions, pipeline_of
from ffi_bridge.numba_cpu.layout import Layout, Threading, buffer_types
from ffi_bridge.numba_cpu.object_code import Loaded
from ffi_bridge.numba_cpu.parallel_region import start_threads
from ffi_bridge.numba_cpu.parts import as_parts
from ffi_bridge.numba_cpu.unwritten_outputs import always_raises, fates, without_stores


def compile_handler(
    dispatcher: Any,
    arguments: Sequence[types.Type],
    layout: Layout,
    name: str,
    *,
    noalias: bool,
    num_threads: int | None,
    keep: bool,
) -> tuple[int, Loaded]:
    """Compile a kernel with its handler `name`; return the handler's address, and its owner.

    `arguments`: Numba's types of all parameters, of which constants are not in the layout.
    `keep`: store it in the kernel cache, if other processes can use it. The caller holds Numba's lock.
    """
    slot, warning = ExceptionSlot(f"{name}.exceptions"), None

    def emitted(layout: Layout) -> tuple[CompileResult, Exception | None, Threading | None]:
        with compiled_now(dispatcher), as_parts():
            compiled, refusal = _compile(dispatcher, arguments, layout, noalias, slot)
        threading = _threading(compiled, slot, num_threads)
        emit_handler(compiled, name, layout, threading)
        return compiled, refusal, threading

    compiled, refusal, threading = emitted(layout)
    if lost := _check_inputs(compiled, arguments, layout, refusal):
        warning = error_messages.copied_inputs(layout.kernel, lost)
        compiled, _, threading = emitted(replace(layout, copied=tuple(lost)))
    unwritten = _unwritten_outputs(compiled, layout)
    entry = object_code.pack(compiled, name, threading, warning, unwritten)
    if keep and object_code.is_portable(compiled, entry):
        object_code.keep(name, entry)
    # Run the object file, as a later process will: Numba's own engine may link functions of earlier modules,
    # which round differently, or enter Numba's thread pool.
    loaded = object_code.unpack(entry)
    # An engine knows the addresses of functions that call themselves, which an object file does not.
    address, owner = loaded or (
        compiled.library.get_pointer_to_function(name),
        Loaded(compiled, slot, (), unwritten),
    )
    # The function keeps what machine code has by its address, such as arrays.
    return address, replace(owner, function=dispatcher.py_func)


def _compile(
    dispatcher: Any, arguments: Sequence[types.Type], layout: Layout, noalias: bool, slot: ExceptionSlot
) -> tuple[CompileResult, Exception | None]:
    """Compile the kernel for these arguments, or, with the error, for inputs that it may write to."""
    kernel = dispatcher.__name__
    _refuse_imports(kernel, dispatcher.py_func.__code__)
    _refuse_python(dispatcher)
    context = NativeContext.of(dispatcher.targetctx, kernel, slot)
    pipeline = with_constants(pipeline_of(dispatcher))

    def compile_for(candidate: Sequence[types.Type]) -> CompileResult | Exception:
        try:
            return Compiler(dispatcher, context, noalias, pipeline).compile(tuple(candidate), None)
        # An error only because the user has warnings raise: no refusal of the compiler's.
        except Warning:
            raise
        except Exception as error:  # Numba has errors of its own, and lets others through
            return error

    result = compile_for(arguments)
    if not isinstance(refusal := result, Exception):
        refusal = None
    elif (result := _with_writable_inputs(compile_for, arguments)) is None:
        names = list(inspect.signature(dispatcher.py_func).parameters)
        raise KernelTypeError(error_messages.not_compiled(kernel, names, arguments, refusal)) from refusal
    if (kind := result.signature.return_type) not in (types.none, types.void):
        first = layout.num_inputs
        array = buffer_types(arguments)[first]
        raise KernelTypeError(error_messages.returned(kernel, kind, layout.names[first], array.ndim))
    return result, refusal


def _with_writable_inputs(
    compile_for: Callable[[Sequence[types.Type]], CompileResult | Exception], arguments: Sequence[types.Type]
) -> CompileResult | None:
    """Compile the kernel with as few writable inputs as possible; None where it fails with all."""
    candidate = [x.copy(readonly=False) if isinstance(x, types.Array) else x for x in arguments]
    result = compile_for(candidate)
    if isinstance(result, Exception):
        return None
    for i, kind in enumerate(arguments):
        # One after the other becomes read-only again, where the kernel still compiles.
        closer = [*candidate[:i], kind, *candidate[i + 1 :]]
        if not isinstance(compiled := compile_for(closer), Exception):
            candidate, result = closer, compiled
    return result


def _check_inputs(
    compiled: CompileResult, arguments: Sequence[types.Type], layout: Layout, refusal: Exception | None
) -> dict[str, str]:
    """Return the inputs that may be written to where they cannot be followed, each with where that is.

    Raise KernelTypeError for an input that is written to.
    """
    arrays = buffer_types(arguments)
    # Enzyme writes to copies that a kernel makes where it must, which are an input itself where it need not.
    suspects = {} if layout.is_derivative else fates(compiled, layout.read)
    if refusal is not None:
        used = zip(layout.names, arrays, buffer_types(compiled.signature.args), strict=True)
        writable = [name for name, declared, array in used if array.mutable and not declared.mutable]
        if written := [name for name in writable if name in suspects]:
            raise KernelTypeError(error_messages.writable_input(layout.kernel, written, refusal)) from refusal
    if written := [name for name, fate in suspects.items() if fate.stored]:
        raise KernelTypeError(error_messages.stored_input(layout.kernel, written))
    return {name: fate.whereabouts for name, fate in suspects.items()}


def _unwritten_outputs(compiled: CompileResult, layout: Layout) -> list[str]:
    """Return the outputs that the kernel never stores to; of one that always raises, none."""
    untouched = without_stores(compiled, outputs := layout.names[layout.num_inputs :])
    return [name for name in outputs if name in untouched and not always_raises(compiled)]


def _refuse_imports(kernel: str, code: CodeType) -> None:
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            raise KernelTypeError(
                f"kernel '{kernel}' imports '{instruction.argval}' in its body, which Numba cannot compile; "
                f"move `import {instruction.argval}` to the top of the file"
            )


def _refuse_python(dispatcher: Any) -> None:
    """Raise KernelTypeError for object mode, and for C functions that expect the GIL to be held."""
    callees = (getattr(part, "py_func", None) for part in compiled_callees(dispatcher.py_func))
    for function in (dispatcher.py_func, *filter(None, callees)):
        for name, value in references(function, function.__code__):
            if value is numba.objmode:
                raise KernelTypeError(
                    f"kernel '{dispatcher.__name__}' enters Python by numba.objmode, in {function.__name__}; "
                    "a native call has no Python; to print, or to look with a debugger, start the process "
                    "with NUMBA_DISABLE_JIT=1"
                )
            if (pointer := internals.pointer_of(value)) is not None and pointer.needs_gil:
                raise KernelTypeError(
                    f"kernel '{dispatcher.__name__}' calls {name}, in {function.__name__}, a function of "
                    "ctypes.PyDLL, which expects the GIL; a native call does not hold it; if the function "
                    "needs no Python, load its library by ctypes.CDLL"
                )


def _threading(compiled: CompileResult, slot: ExceptionSlot, num_threads: int | None) -> Threading | None:
    """Return the surroundings of parallel regions; None where nothing enters Numba's pool."""
    if not any(function.name == PARALLEL_FOR for function in linked_functions(compiled)):
        return None
    start_threads()
    return Threading(slot.symbol, num_threads)
