"""Inner names of Numba that kernels on the CPU need, and the last version that they were tested with.

Numba's users are promised `numba` and `numba.extending`. Whatever else the bridge knows of it is here:
modules, attributes, the names of functions and variables in machine code, the order of an array's fields.
Each release of Numba pins one of llvmlite, so that TESTED stands for both. `identity.internals` has the inner
names of dispatchers, overloads and intrinsics, `compiler` the methods that it overrides.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import numba
import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir as llvm_ir
from numba import types

from ffi_bridge.native.private_api import look_up, private_api, replaced
from ffi_bridge.numba_cpu.float16_storage import Half

TESTED: Final = (0, 68)

with private_api("numba", numba.__version__, TESTED):
    from llvmlite.binding.newpassmanagers import FunctionPassManager, ModulePassManager, NewPassManager
    from numba import config as _config
    from numba.core import ir as numba_ir
    from numba.core.callconv import CPUCallConv
    from numba.core.codegen import JITCodeLibrary, JITCPUCodegen, RuntimeLinker
    from numba.core.compiler import CompileResult, Flags, compile_extra, run_frontend
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.compiler_machinery import FunctionPass, register_pass
    from numba.core.cpu import CPUContext
    from numba.core.dispatcher import (
        Dispatcher,
        _FunctionCompiler,  # pyright: ignore[reportAttributeAccessIssue]
    )
    from numba.core.environment import Environment, lookup_environment
    from numba.core.errors import NumbaError
    from numba.core.pythonapi import PythonAPI
    from numba.core.registry import cpu_target
    from numba.core.runtime import _nrt_python  # pyright: ignore[reportAttributeAccessIssue]
    from numba.core.ssa import reconstruct_ssa
    from numba.core.typing.templates import Signature
    from numba.core.untyped_passes import IRProcessing
    from numba.np.numpy_support import as_dtype as _as_dtype
    from numba.np.ufunc.dufunc import DUFunc
    from numba.np.ufunc.gufunc import GUFunc
    from numba.np.ufunc.ufuncbuilder import GUFuncBuilder, UFuncDispatcher

    # `compiler` overrides these.
    look_up(_FunctionCompiler, "_compile_core", "_customize_flags")
    look_up(CPUContext, "call_conv", "get_python_api")
    # `parts` overrides these.
    look_up(CPUContext, "codegen", "create_cpython_wrapper", "get_executable")
    look_up(Dispatcher, "add_overload")
    look_up(JITCodeLibrary, "_finalize_specific", "_optimize_functions", "_optimize_final_module")
    look_up(JITCodeLibrary, "get_pointer_to_function", "_get_module_for_linking")
    look_up(JITCPUCodegen, "_add_module", "_function_pass_manager")
    look_up(RuntimeLinker, "resolve", "scan_defined_symbols", "scan_unresolved_symbols")
    look_up(CPUCallConv, "raise_error", "call_function", "return_status_propagate")
    look_up(DUFunc, "nin", "types")
    look_up(UFuncDispatcher, "compile")
    look_up(GUFuncBuilder, "build_ufunc")
    look_up(NewPassManager, "_dispose")
    look_up(PythonAPI, "gil_ensure", "gil_release", "save_thread", "restore_thread")

__all__ = [
    "CPUCallConv",
    "CPUContext",
    "CompileResult",
    "Dispatcher",
    "Environment",
    "Flags",
    "FunctionPass",
    "IRProcessing",
    "JITCPUCodegen",
    "JITCodeLibrary",
    "NumbaError",
    "PythonAPI",
    "Signature",
    "as_dtype",
    "compile_extra",
    "global_compiler_lock",
    "lookup_environment",
    "numba_ir",
    "reconstruct_ssa",
    "register_pass",
    "run_frontend",
]

FunctionCompiler: Any = _FunctionCompiler
config: Any = _config  # its constants are made when it runs

# How the name of a function begins that enters a parallel region; Numba makes it take the GIL.
PARALLEL_ENTRY: Final = ".kernel."
# C functions of Numba's thread pool.
PARALLEL_FOR: Final = "numba_parallel_for"
GET_NUM_THREADS: Final = "get_num_threads"
SET_NUM_THREADS: Final = "set_num_threads"
GET_CHUNK_SIZE: Final = "get_parallel_chunksize"
SET_CHUNK_SIZE: Final = "set_parallel_chunksize"
THREAD_ID: Final = "get_thread_id"
# The function of the runtime that gives memory for what an exception is made of, and how the names begin of
# the variables that hold the address of that.
ALLOCATE: Final = "NRT_Allocate"
EXCEPTION: Final = "excinfo"
# Functions of Numba's runtime and of BLAS, as Numba calls them, and which arguments point to what they only
# read. `NRT_Free` frees copies: what may be an array itself, where none was made, does not get there then.
READING_FUNCTIONS: Final = {
    "NRT_Free": (0,),
    "numba_attempt_nocopy_reshape": (1, 2, 4, 5),
    "numba_xxdot": (3, 4),
    "numba_xxgemm": (6, 7, 9, 11),
    "numba_xxgemv": (4, 5, 7, 8),
    "numba_xxnrm2": (2,),
}
# How the name of a variable begins that holds the environment of a function.
ENVIRONMENT: Final = "_ZN08NumbaEnv"
# How the name of a variable begins that holds an address of this process; its digits follow.
ADDRESS: Final = "numba.dynamic.globals."
# How the name of a variable begins that will hold the address of a function that calls itself.
UNRESOLVED: Final = RuntimeLinker.PREFIX
# The fields of an array, in order; meminfo and parent are NULL where Numba does not own the memory.
ARRAY_FIELDS: Final = ("meminfo", "parent", "nitems", "itemsize", "data", "shape", "strides")


def as_dtype(kind: Any) -> np.dtype[Any]:
    """Return NumPy's dtype of Numba's type of an element."""
    return kind.of if isinstance(kind, Half) else _as_dtype(kind)


def pipeline_of(dispatcher: Any) -> type[Any]:
    """Return the class that defines the passes of a dispatcher's compiler."""
    return dispatcher._compiler.pipeline_class


def redefine(function: Any, assignment: Any, value: Any) -> None:
    """Assign another value in the intermediate representation of a function."""
    definitions = function._definitions[assignment.target.name]
    definitions[definitions.index(assignment.value)] = value
    assignment.value = value


class UFunc(NamedTuple):
    """A universal function of `@numba.vectorize` or `@numba.guvectorize`, by its parts.

    `layout`: the core dimensions, None for elements. `loops`: what is declared, as "ff->f"; empty for what is
    compiled when it is called. `arrays`: for each loop, which parameters are declared as arrays.
    """

    function: Callable[..., Any]
    layout: str | None
    num_inputs: int
    loops: tuple[str, ...]
    arrays: tuple[tuple[bool, ...], ...]
    compiled_with: tuple[tuple[str, Any], ...]

    @property
    def options(self) -> dict[str, Any]:
        """Return the options of the compiler that count within a larger kernel, too."""
        return {name: value for name, value in self.compiled_with if name in ("fastmath", "boundscheck")}


def ufunc_of(x: Any) -> UFunc | None:
    """Return the parts of `x`, if it is a universal function for the CPU whose inputs are only read."""
    if not isinstance(x, DUFunc | GUFunc):
        return None
    made: Any = x
    inner = made._dispatcher if isinstance(x, DUFunc) else made.gufunc_builder
    if getattr(inner, "writable_args", ()):
        return None
    layout = getattr(inner, "signature", None)
    declared: Any = getattr(inner, "_sigs", ())
    arrays = tuple(tuple(isinstance(kind, types.Array) for kind in signature.args) for signature in declared)
    loops: tuple[str, ...] = tuple(made.types)
    options = tuple(sorted((name, value) for name, value in inner.targetoptions.items() if value is not None))
    return UFunc(inner.py_func, layout, made.nin, loops, arrays, options)


def finished_module(compiled: CompileResult) -> Any:
    """Return the LLVM module of a kernel whose library is finished, optimised and linked with its callees."""
    library: Any = compiled.library
    return library._final_module


def function_of(compiled: CompileResult) -> Any:
    """Return the kernel's own function in its finished module."""
    return finished_module(compiled).get_function(compiled.fndesc.llvm_func_name)


def linked_functions(compiled: CompileResult) -> list[Any]:
    """Return the functions of a kernel's library, and of the libraries that it is linked with."""
    library: Any = compiled.library
    libraries = [library, *library._linking_libraries]
    return [function for each in libraries for function in each._final_module.functions]


def object_of(compiled: CompileResult) -> bytes:
    """Return the object file of a finished library."""
    library: Any = compiled.library
    return library.codegen._tm.emit_object(library._final_module)


def address_in(variable: str) -> int:
    """Return the address that a variable holds whose name begins with `ADDRESS`."""
    digits = variable.removeprefix(ADDRESS).partition(".")[0]  # the second one of a module has a suffix
    return int(digits, 16)


def data_argument(parameter: str) -> str:
    """Return the name that the address of an array has among the arguments of a kernel's LLVM function."""
    return f"arg.{parameter}.{ARRAY_FIELDS.index('data')}"


def array_value(
    builder: Any, context: Any, kind: types.Array, data: Any, shape: Sequence[Any], strides: Sequence[Any]
) -> Any:
    """Emit Numba's struct of an array over memory that it does not own; strides in bytes."""
    struct = context.get_value_type(kind)
    place = builder.bitcast(data, struct.elements[ARRAY_FIELDS.index("data")])
    size: Any = context.get_constant(types.intp, 1)
    for extent in shape:
        # No array in memory has more elements than an integer counts.
        size = builder.mul(size, extent, flags=["nsw"])
    itemsize = context.get_constant(types.intp, as_dtype(kind.dtype).itemsize)
    value: Any = llvm_ir.Constant(struct, None)
    for name, of_field in {"nitems": size, "itemsize": itemsize, "data": place}.items():
        value = builder.insert_value(value, of_field, ARRAY_FIELDS.index(name))
    for name, of_axes in {"shape": shape, "strides": strides}.items():
        for axis, number in enumerate(of_axes):
            value = builder.insert_value(value, number, [ARRAY_FIELDS.index(name), axis])
    return value


def target_context() -> Any:
    """Return the CPU target; the first time, this names the C functions of Python and Numba to LLVM."""
    return cpu_target.target_context


def runtime_functions() -> Mapping[str, int]:
    """Return the addresses of Numba's runtime by the names that machine code has for them."""
    helpers: Mapping[str, int] = _nrt_python.c_helpers
    return {(name if name.startswith("_") else f"NRT_{name}"): place for name, place in helpers.items()}


@contextmanager
def unoptimised() -> Generator[None]:
    """Emit the code of functions that are compiled within the block as it is, without vectors."""
    with replaced(config, OPT=type(config.OPT)(0), LOOP_VECTORIZE=0, SLP_VECTORIZE=0):
        yield


@contextmanager
def freed_passes() -> Generator[None]:
    """Within the block, free passes when nobody holds them any more: 90 KB for each module.

    llvmlite 0.50 does not: an empty method of another base class hides the one that frees them.
    """
    free = vars(NewPassManager)["_dispose"]
    with replaced(ModulePassManager, _dispose=free), replaced(FunctionPassManager, _dispose=free):
        yield


def argument_type(kind: types.Type) -> str:
    """Return LLVM's type of a number that a function takes by value."""
    return str(target_context().get_argument_type(kind))


def text_of(compiled: CompileResult) -> tuple[str, str]:
    """Return LLVM's text of a kernel and all that it calls, and the name of its function."""
    library: Any = compiled.library
    library.is_whole = True
    library.finalize()
    return library.get_llvm_str(), compiled.fndesc.llvm_func_name


def link_text(context: Any, name: str, text: str) -> None:
    """Link the library that is being compiled with a module that is given as LLVM's text."""
    library: Any = context.codegen().create_library(name)
    library.add_llvm_module(llvm.parse_assembly(text))
    library.finalize()
    context.add_linking_libs([library])


def array_parts(context: Any, builder: Any, kind: types.Array, value: Any) -> tuple[Any, list[Any]]:
    """Emit the address of an array's elements, and its extents."""
    array = context.make_array(kind)(context, builder, value)
    return array.data, [builder.extract_value(array.shape, axis) for axis in range(kind.ndim)]
