"""Change Numba's compiler and CPU target for kernels that XLA calls from its threads.

Numba gives an argument that a call leaves out a type with the value in it, but compiles both branches of an
`if` on it, also one that makes no sense for the value: `if axis is None: ... else: x.sum(axis)` alone is
decided early. Here such arguments are constants.

Numba enters a parallel region under the GIL, for the sake of Python callers; XLA calls without it, and
a busy Python thread must not hold a kernel up. And an exception inside a parallel region is set in the
Python state of a worker thread, where nobody looks; here it is recorded for the handler.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import warnings
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numba import types

from ffi_bridge.errors import UntestedVersionWarning
from ffi_bridge.native.parameters import with_defaults
from ffi_bridge.numba_cpu import internals
from ffi_bridge.numba_cpu.exception import ExceptionSlot, record_exception
from ffi_bridge.numba_cpu.internals import (
    CompileResult,
    CPUContext,
    Flags,
    FunctionCompiler,
    FunctionPass,
    IRProcessing,
    PythonAPI,
    compile_extra,
    numba_ir,
    pipeline_of,
    redefine,
    register_pass,
)
from ffi_bridge.numba_cpu.layout import Constant
from ffi_bridge.numba_cpu.parts import Propagating, codegen_of_parts


@register_pass(mutates_CFG=False, analysis_only=False)
class _Constants(FunctionPass):
    """Read arguments that are left out, and members of enums, as globals, whose values Numba freezes."""

    _name = "ffi_bridge_constants"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> Any:
        function = state.func_ir
        for block in function.blocks.values():
            for assignment in block.find_insts(numba_ir.Assign):
                if (constant := _frozen(assignment.value, state.args, function)) is not None:
                    redefine(function, assignment, constant)
        return True


def _frozen(value: Any, arguments: Sequence[types.Type], function: Any) -> Any:
    """Return the global variable that is to be read in place of `value`, if any."""
    if isinstance(value, numba_ir.Arg):
        kind = arguments[value.index]
        if isinstance(kind, types.Omitted):
            # A default is read where it is defined: to Numba types of equal ones are one.
            default = function.func_id.pysig.parameters[value.name].default
            constant = kind.value if isinstance(kind, Constant) else default
            # Numba has no frozen dtypes; as an argument it has them.
            if not isinstance(constant, np.dtype):
                return numba_ir.Global(value.name, constant, value.loc)
    elif isinstance(value, numba_ir.Expr) and value.op == "getattr":
        with contextlib.suppress(KeyError):  # a variable with several definitions
            of = getattr(function.get_definition(value.value), "value", None)
            if isinstance(of, enum.EnumMeta) and value.attr in of.__members__:
                return numba_ir.Global(value.attr, of[value.attr], value.loc)
    return None


@functools.cache
def with_constants(pipeline: type[Any]) -> type[Any]:
    """Return the pipeline of passes in which arguments that are left out are constants."""

    class Pipeline(pipeline):
        def define_pipelines(self) -> list[Any]:
            managers = super().define_pipelines()
            for manager in managers:
                # Before Numba prunes branches on constants, which it does later in the same pipeline.
                manager.add_pass_after(_Constants, IRProcessing)
                # Numba's were final already; one more pass needs it again.
                manager.finalize()
            return managers

    return Pipeline


def specialised(dispatcher: Any, /, **constants: Any) -> Any:
    """Return a dispatcher for calls that leave out the parameters `constants`, which have these values."""
    options: dict[str, Any] = dispatcher.targetoptions
    function = with_defaults(dispatcher.py_func, constants)
    pipeline = with_constants(pipeline_of(dispatcher))
    return numba.jit(**options, locals=dispatcher.locals, pipeline_class=pipeline)(function)


class _WithoutGIL(PythonAPI):
    """Emits nothing that takes the GIL, or lets go of it, in a function that enters a parallel region.

    In this target no other function lets go of it: one that does shows that Numba has changed their names.
    """

    @property
    def _entering(self) -> bool:
        return bool(self.builder.function.name.startswith(internals.PARALLEL_ENTRY))

    def gil_ensure(self) -> Any:
        return None if self._entering else super().gil_ensure()

    def gil_release(self, gil: Any) -> None:
        if not self._entering:
            super().gil_release(gil)

    def save_thread(self) -> Any:
        if self._entering:
            return None
        warnings.warn(
            f"numba {numba.__version__} lets go of the GIL in the function '{self.builder.function.name}'; "
            f"ffi_bridge expects that of '{internals.PARALLEL_ENTRY}...' alone, and kernels with parallel "
            "regions now wait for the GIL; look for a newer ffi-bridge",
            UntestedVersionWarning,
            stacklevel=2,
        )
        return super().save_thread()

    def restore_thread(self, thread_state: Any) -> None:
        if not self._entering:
            super().restore_thread(thread_state)


class _Recording(Propagating):
    """Raises into an exception slot: only bodies of parallel regions raise in this target."""

    def raise_error(self, builder: Any, pyapi: Any, status: Any) -> None:
        super().raise_error(builder, pyapi, status)
        record_exception(builder, pyapi, self.context.kernel, self.context.slot.symbol)


class NativeContext(CPUContext):
    """`base` for one kernel; shares every table and all machine code with it."""

    kernel: str
    slot: ExceptionSlot

    @classmethod
    def of(cls, base: CPUContext, kernel: str, slot: ExceptionSlot) -> NativeContext:
        context: NativeContext = cls.__new__(cls)
        context.__dict__.update(base.__dict__)
        context.kernel, context.slot = kernel, slot
        return context

    @property
    def call_conv(self) -> Propagating:
        return _Recording(self)

    def codegen(self) -> Any:
        return codegen_of_parts()

    def get_python_api(self, builder: Any) -> PythonAPI:
        return _WithoutGIL(self, builder)


class Compiler(FunctionCompiler):
    """Compiles a dispatcher for a target, with the user's options, and makes no wrapper for Python."""

    def __init__(
        self, dispatcher: Any, context: CPUContext, noalias: bool, pipeline_class: type[Any]
    ) -> None:
        super().__init__(
            dispatcher.py_func,
            dispatcher.targetdescr,
            dispatcher.targetoptions,
            dispatcher.locals,
            pipeline_class,
        )
        self._noalias = noalias
        self._context = context
        # Extensions may have registered something since the last kernel.
        dispatcher.targetctx.refresh()
        dispatcher.typingctx.refresh()

    def _compile_core(self, args: tuple[types.Type, ...], return_type: object) -> CompileResult:
        flags = Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        return compile_extra(
            self.targetdescr.typing_context,
            self._context,
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
        # No object mode to fall back on: it runs Python.
        flags.enable_pyobject = False
        flags.noalias = self._noalias
        return flags
