"""Compile a Numba dispatcher for the arrays of one call, with its handler."""

from __future__ import annotations

import dis
from collections.abc import Sequence
from types import CodeType
from typing import Any

import numba
from numba.core import types
from numba.core.compiler import CompileResult, Flags, compile_extra
from numba.core.dispatcher import _FunctionCompiler  # pyright: ignore[reportAttributeAccessIssue]
from numba.core.errors import NumbaError

from ffi_bridge import numba_object
from ffi_bridge.callees import compiled_now
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.fingerprint import compiled_parts, references
from ffi_bridge.handler.exception import ExceptionSlot
from ffi_bridge.handler.layout import Layout, Threading
from ffi_bridge.handler.numba_context import NativeContext
from ffi_bridge.handler.numba_cpu import emit_handler
from ffi_bridge.numba_threads import ENTRY, start_threads


class _Compiler(_FunctionCompiler):
    """Numba's compiler with the user's options, stopped before it makes wrappers for Python."""

    def __init__(self, dispatcher: Any, noalias: bool, slot: ExceptionSlot) -> None:
        super().__init__(
            dispatcher.py_func,
            dispatcher.targetdescr,
            dispatcher.targetoptions,
            dispatcher.locals,
            dispatcher._compiler.pipeline_class,
        )
        self._noalias = noalias
        self._target = NativeContext.of(dispatcher.targetctx, dispatcher.__name__, slot)
        dispatcher.targetctx.refresh()
        dispatcher.typingctx.refresh()

    def _compile_core(self, args: tuple[types.Type, ...], return_type: object) -> CompileResult:
        flags = Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        return compile_extra(
            self.targetdescr.typing_context,
            self._target,
            self.py_func,
            args=args,
            return_type=return_type,
            flags=self._customize_flags(flags),
            locals=self.locals,
            pipeline_class=self.pipeline_class,
        )

    def _customize_flags(self, flags: Any) -> Any:
        flags.no_cpython_wrapper = True
        flags.no_cfunc_wrapper = True
        flags.no_compile = True  # the handler joins the same LLVM module before it is finished
        flags.enable_pyobject = False
        flags.noalias = self._noalias
        return flags


def compile_handler(
    dispatcher: Any,
    arrays: Sequence[types.Array],
    layout: Layout,
    name: str,
    *,
    noalias: bool,
    num_threads: int | None,
    keep: bool,
) -> tuple[int, object]:
    """The address of the handler `name` of the kernel, and what keeps it alive; `keep`: on disk, too.

    The caller holds Numba's compiler lock.
    """
    slot = ExceptionSlot(f"{name}.exceptions")
    with compiled_now(dispatcher):
        compiled = _compile(dispatcher, arrays, layout, noalias, slot)
    threading = _threading(compiled, slot, num_threads)
    compiled.library.enable_object_caching()
    address = emit_handler(compiled, name, layout, threading)
    compiled.library.codegen.set_env(compiled.fndesc.env_name, compiled.environment)
    entry = numba_object.pack(compiled, threading)
    if keep and numba_object.is_portable(compiled, entry):
        numba_object.keep(name, entry)
    # Numba's own engine links functions of earlier modules, which may round otherwise, or enter Numba's pool
    # of threads: what runs here is what a later process reads.
    own, loaded = numba_object.unpack(entry, name) or (address, slot)
    return own, (compiled, loaded)


def _compile(
    dispatcher: Any, arrays: Sequence[types.Array], layout: Layout, noalias: bool, slot: ExceptionSlot
) -> CompileResult:
    kernel = dispatcher.__name__
    _refuse_imports(kernel, dispatcher.py_func.__code__)
    _refuse_object_mode(dispatcher)
    try:
        compiled = _Compiler(dispatcher, noalias, slot).compile(tuple(arrays), None)
    except NumbaError as error:
        raise KernelTypeError(_explain(dispatcher, arrays, layout, slot, error)) from error
    if compiled.signature.return_type not in (types.none, types.void):
        raise KernelTypeError(
            f"kernel '{kernel}' returns {compiled.signature.return_type}; write results into the "
            "output arguments and return nothing"
        )
    return compiled


def _refuse_imports(kernel: str, code: CodeType) -> None:
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            raise KernelTypeError(
                f"kernel '{kernel}' imports '{instruction.argval}' in its body, which Numba cannot compile; "
                f"move `import {instruction.argval}` to the top of the file"
            )


def _refuse_object_mode(dispatcher: Any) -> None:
    callees = (getattr(part, "py_func", None) for part in compiled_parts(dispatcher.py_func))
    for function in (dispatcher.py_func, *filter(None, callees)):
        if any(value is numba.objmode for _, value in references(function, function.__code__)):
            raise KernelTypeError(
                f"kernel '{dispatcher.__name__}' enters Python by numba.objmode, in {function.__name__}; a "
                "native call has no Python; to print, or to look with a debugger, start the process with "
                "NUMBA_DISABLE_JIT=1"
            )


def _explain(
    dispatcher: Any, arrays: Sequence[types.Array], layout: Layout, slot: ExceptionSlot, error: NumbaError
) -> str:
    """What is wrong, in terms of the kernel's own arguments."""
    if written := _written_inputs(dispatcher, arrays, slot, error):
        names = ", ".join(f"'{layout.names[i]}'" for i in written)
        head = (
            f"kernel '{layout.kernel}' writes into its input {names}; inputs are read-only: write into an "
            "output, or alias the two with input_output_aliases"
        )
    else:
        listed = (f"{name}: {array}" for name, array in zip(layout.names, arrays, strict=True))
        head = f"kernel '{layout.kernel}' does not compile for ({', '.join(listed)})"
    return f"{head}\n{error}"


def _written_inputs(
    dispatcher: Any, arrays: Sequence[types.Array], slot: ExceptionSlot, error: NumbaError
) -> list[int]:
    """Inputs whose being read-only is all that stops the kernel from compiling."""

    def compiles(candidate: Sequence[types.Array]) -> bool:
        try:
            _Compiler(dispatcher, False, slot).compile(tuple(candidate), None)
        except NumbaError:
            return False
        return True

    writable = [array.copy(readonly=False) for array in arrays]
    if "readonly" not in str(error) or not compiles(writable):
        return []
    return [
        i
        for i, array in enumerate(arrays)
        if not array.mutable and not compiles([*writable[:i], array, *writable[i + 1 :]])
    ]


def _threading(compiled: CompileResult, slot: ExceptionSlot, num_threads: int | None) -> Threading | None:
    """None unless the machine code enters Numba's thread pool, itself or in a function it calls."""
    if not any(function.name == ENTRY for function in _linked_functions(compiled)):
        return None
    start_threads()
    return Threading(slot.symbol, num_threads)


def _linked_functions(compiled: CompileResult) -> list[Any]:
    libraries = [compiled.library, *compiled.library._linking_libraries]
    return [function for library in libraries for function in library._final_module.functions]
