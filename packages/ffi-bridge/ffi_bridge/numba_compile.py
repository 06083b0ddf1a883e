"""Compile a Numba dispatcher for the arrays of one call, into a registered XLA FFI target."""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Sequence
from types import CodeType
from typing import Any, Final

import llvmlite
import numba
import numpy as np
from numba.core import types
from numba.core.compiler import CompileResult, Flags, compile_extra
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler  # pyright: ignore[reportAttributeAccessIssue]
from numba.core.errors import NumbaError
from numba.np.numpy_support import from_dtype

from ffi_bridge import numba_object
from ffi_bridge.abi import DTYPES, check_platform
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.fingerprint import fingerprint
from ffi_bridge.handler.exception import ExceptionSlot
from ffi_bridge.handler.numba_context import NativeContext
from ffi_bridge.handler.numba_cpu import Layout, Threading, emit_handler
from ffi_bridge.numba_threads import MUTEX, serialises
from ffi_bridge.target import Target, ensure_target

_VERSIONS: Final = (numba.__version__, llvmlite.__version__, sys.version_info[:2])
_PARALLEL_ENTRY: Final = "numba_parallel_for"


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


def parameter_names(dispatcher: Any, given: int, num_outs: int) -> tuple[str, ...]:
    """Names of the kernel's parameters; raises KernelTypeError unless there is one per buffer."""
    parameters = inspect.signature(dispatcher.py_func).parameters.values()
    name = dispatcher.__name__
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise KernelTypeError(
                f"kernel '{name}' has the parameter '{parameter}'; a kernel takes one positional "
                "parameter per input, then one per output"
            )
    if len(parameters) != given + num_outs:
        raise KernelTypeError(
            f"kernel '{name}' takes {len(parameters)} arguments "
            f"({', '.join(p.name for p in parameters)}), but the call has {given} inputs and {num_outs} "
            f"outputs = {given + num_outs}; give {len(parameters) - num_outs} inputs, or change outs"
        )
    return tuple(p.name for p in parameters)


def array_type(kernel: str, name: str, dtype: np.dtype[Any], ndim: int, readonly: bool) -> types.Array:
    """Numba's type of a C-contiguous buffer; raises KernelTypeError for a dtype that kernels cannot have."""
    if np.dtype(dtype) not in DTYPES:
        hint = "cast it to float32 before the call" if "float" in str(dtype) else "cast it before the call"
        raise KernelTypeError(
            f"kernel '{kernel}': argument '{name}' has dtype {dtype}, which Numba kernels on CPU cannot "
            f"have; {hint} (supported: {', '.join(map(str, DTYPES))})"
        )
    return types.Array(from_dtype(np.dtype(dtype)), ndim, "C", readonly=readonly)


def ensure_kernel_target(
    dispatcher: Any,
    arrays: Sequence[types.Array],
    layout: Layout,
    *,
    noalias: bool,
    num_threads: int | None,
) -> Target:
    """The target that runs the kernel on `arrays`; compiled now, unless equal contents were before."""
    check_platform()
    kernel = dispatcher.__name__
    found = fingerprint(dispatcher, tuple(map(str, arrays)), repr(layout), noalias, num_threads, _VERSIONS)
    name = f"{kernel}.numba_cpu.{found.digest}"

    def build() -> tuple[int, object]:
        if found.portable and (kept := numba_object.find(name)):
            return kept
        slot = ExceptionSlot(f"{name}.exceptions")
        compiled = _compile(dispatcher, arrays, layout, noalias, slot)
        threading = _threading(compiled, slot, num_threads)
        compiled.library.enable_object_caching()
        address = emit_handler(compiled, name, layout, threading)
        compiled.library.codegen.set_env(compiled.fndesc.env_name, compiled.environment)
        entry = numba_object.pack(compiled, threading)
        if entry is None:
            return address, (compiled, slot)
        if found.portable:
            numba_object.keep(name, entry)
        # Numba's own engine links functions of earlier modules, which may round otherwise: what runs here is
        # what a later process reads.
        return numba_object.unpack(entry, name) or (address, (compiled, slot))

    with global_compiler_lock:
        return ensure_target(name, build, platform="cpu")


def _compile(
    dispatcher: Any, arrays: Sequence[types.Array], layout: Layout, noalias: bool, slot: ExceptionSlot
) -> CompileResult:
    kernel = dispatcher.__name__
    _refuse_imports(kernel, dispatcher.py_func.__code__)
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
    if not any(function.name == _PARALLEL_ENTRY for function in _linked_functions(compiled)):
        return None
    return Threading(slot.symbol, num_threads, MUTEX if serialises() else None)


def _linked_functions(compiled: CompileResult) -> list[Any]:
    libraries = [compiled.library, *compiled.library._linking_libraries]
    return [function for library in libraries for function in library._final_module.functions]
