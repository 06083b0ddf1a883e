"""Compile a CUDA kernel by the package that it is written for; no GPU is needed."""

import dis
import functools
import importlib
import inspect
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import distributions
from typing import Any, Final

import numpy as np
from cuda.bindings.nvjitlink import nvJitLinkError

from ffi_bridge import kernel_cache
from ffi_bridge.abi import DTYPES
from ffi_bridge.cuda.cubin import Cubin
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.identity.callees import compiled_now
from ffi_bridge.identity.fingerprint import fingerprint, overloads_of_others
from ffi_bridge.identity.references import reached
from ffi_bridge.kernel_cache import Entry
from ffi_bridge.numba_cpu import error_messages
from ffi_bridge.numba_cuda import by_llvm
from ffi_bridge.numba_cuda.toolchain import ArgumentType, ArrayType, Capability, Compiled, Compiler

# Compilers keep the device that they compile for in their modules, where it is replaced for a while.
_compiling: Final = threading.RLock()

_cubins: Final[dict[object, Cubin]] = {}

_TOOLCHAIN: Final = ("cuda-", "nvidia-", "numba")  # how the names of the packages that compile begin


def compilers() -> Iterator[Compiler]:
    """Yield numba-cuda, and numba-cuda-mlir once a program has imported it."""
    yield by_llvm.COMPILER
    if "numba_cuda_mlir" in sys.modules:
        yield importlib.import_module("ffi_bridge.numba_cuda.by_mlir").COMPILER


def compiler_of(kernel: Any) -> Compiler:
    """Return the package whose `@cuda.jit` made a kernel; raise KernelTypeError for anything else."""
    for compiler in compilers():
        if isinstance(kernel, compiler.dispatcher):
            return compiler
    raise KernelTypeError(f"{kernel!r} is no CUDA kernel; decorate the function with @cuda.jit")


def is_dispatcher(kernel: Any) -> bool:
    """Return whether `kernel` is a function decorated with `@cuda.jit`, and no device function."""
    is_compiled = any(isinstance(kernel, compiler.dispatcher) for compiler in compilers())
    return is_compiled and not kernel.targetoptions.get("device")


def array_type(kernel: str, name: str, dtype: Any, ndim: int, readonly: bool) -> ArrayType:
    """Return the type of a C-contiguous buffer; raise KernelTypeError for a dtype that CUDA kernels lack."""
    supported = [*DTYPES, np.dtype(np.float16)]
    if np.dtype(dtype) not in supported:
        raise KernelTypeError(
            f"kernel '{kernel}': argument '{name}' has dtype {dtype}, which numba-cuda kernels cannot have; "
            f"cast it before the call (supported: {', '.join(map(str, supported))})"
        )
    return ArrayType(np.dtype(dtype), ndim, readonly)


def compile_kernel(
    kernel: Any, arguments: Sequence[ArgumentType], capability: Capability, *, with_ptx: bool = False
) -> Cubin:
    """Compile a kernel for these arguments, with the options of its `@cuda.jit`; `with_ptx`: to PTX, too."""
    compiler = compiler_of(kernel)
    _refuse_reports(kernel)
    key = (compiler.version, fingerprint(kernel), tuple(arguments), capability, _lines(kernel, with_ptx))
    with _compiling:
        if key not in _cubins:
            compiled = _stored_or_compiled(compiler, kernel, arguments, capability, with_ptx)
            parts = compiled.code, compiled.entry, kernel, tuple(arguments), compiled.ptx
            _cubins[key] = Cubin(*parts, synchronises_grid=compiled.cooperative)
        return _cubins[key]


def _stored_or_compiled(
    compiler: Compiler, kernel: Any, arguments: Sequence[ArgumentType], capability: Capability, with_ptx: bool
) -> Compiled:
    """Read a kernel from the kernel cache, or compile it, and keep it where a key can stand for it."""
    settings = kernel_cache.settings_of(compiler.config)
    overloads = overloads_of_others()
    around = (kernel_cache.own_sources(), compiler.version, _toolchain(), settings, overloads.digest)
    identity = fingerprint(around, kernel, repr(tuple(arguments)), capability, _lines(kernel, with_ptx))
    # Files that are linked may change under their names.
    is_named = identity.portable and overloads.portable and not kernel.targetoptions.get("link")
    key = identity.digest if is_named else None
    if key and (entry := kernel_cache.load(key, entry=str, ptx=str, cooperative=bool)):
        facts = entry.facts
        return Compiled(entry.code, facts["entry"], facts["cooperative"], facts["ptx"].encode())
    compiled = _compiled(compiler, kernel, arguments, capability, with_ptx)
    if key:
        facts = {"entry": compiled.entry, "ptx": compiled.ptx.decode(), "cooperative": compiled.cooperative}
        kernel_cache.store(key, Entry(facts, compiled.code))
    return compiled


def _lines(kernel: Any, with_ptx: bool) -> int | None:
    """Return the first line of a kernel, which its PTX depends on, too; None without PTX."""
    return kernel.py_func.__code__.co_firstlineno if with_ptx else None


@functools.cache
def _toolchain() -> list[tuple[str, str]]:
    """Return names and versions of the installed packages that compile for CUDA."""
    names = ((package.name, package.version) for package in distributions())
    return sorted(item for item in names if item[0].lower().startswith(_TOOLCHAIN))


def _compiled(
    compiler: Compiler, kernel: Any, arguments: Sequence[ArgumentType], capability: Capability, with_ptx: bool
) -> Compiled:
    try:
        with compiled_now(kernel):
            compiled = compiler.compile(kernel, arguments, capability, with_ptx)
    except _errors(compiler) as error:
        raise KernelTypeError(_explain(compiler, kernel, arguments, capability, error)) from error
    if compiled.stored:
        names = _names(kernel, arguments)
        raise KernelTypeError(
            error_messages.stored_on_gpu(kernel.__name__, [names[i] for i in compiled.stored])
        )
    return compiled


def _refuse_reports(kernel: Any) -> None:
    """Raise KernelTypeError for exceptions to be reported behind the launch, as debug=True has it."""
    if not kernel.targetoptions.get("debug"):
        return
    for function in reached(kernel.py_func, lambda value: getattr(value, "py_func", value)):
        if any(x.opname == "RAISE_VARARGS" for x in dis.get_instructions(function)):
            raise KernelTypeError(
                f"kernel '{kernel.__name__}' has debug=True, and raises an exception, in "
                f"{function.__name__}; XLA waits for no launch, so that nobody would hear of it: write NaN, "
                "or a flag, into an output; without debug=True an exception ends its thread"
            )


def _errors(compiler: Compiler) -> tuple[type[Exception], ...]:
    """Return the errors of a compiler for a wrong kernel, and of the linker of both packages."""
    return (*compiler.errors, nvJitLinkError)


def _names(kernel: Any, arguments: Sequence[ArgumentType]) -> list[str]:
    names = list(inspect.signature(kernel.py_func).parameters)
    if len(names) != len(arguments):  # the kernel takes any number of them
        return [f"argument {i}" for i in range(len(arguments))]
    return names


def _explain(
    compiler: Compiler,
    kernel: Any,
    arguments: Sequence[ArgumentType],
    capability: Capability,
    error: Exception,
) -> str:
    def compiles(candidate: Sequence[ArgumentType]) -> bool:
        try:
            compiler.compile(kernel, candidate, capability)
        except _errors(compiler):
            return False
        return True

    names = _names(kernel, arguments)
    # If it compiles for arrays that may be written to, writing is what is wrong.
    writable = [replace(x, readonly=False) if isinstance(x, ArrayType) else x for x in arguments]
    if writable == list(arguments) or not compiles(writable):
        return error_messages.not_compiled(kernel.__name__, names, arguments, error)
    needed = [
        name
        for i, (name, array) in enumerate(zip(names, arguments, strict=True))
        if array != writable[i] and not compiles([*writable[:i], array, *writable[i + 1 :]])
    ]
    return error_messages.writable_input(kernel.__name__, needed, error)
