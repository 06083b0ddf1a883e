"""Compile the functions that a kernel calls as parts of it, without machine code of their own.

Numba compiles a function that another one calls for callers in Python, too: it emits a wrapper for them, into
which the function is inlined and optimised once more, and makes machine code of both. A kernel is linked with
LLVM's form of the function and needs none of that. Where Python calls the function, it is compiled anew.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from llvmlite import binding as llvm

from ffi_bridge.native.private_api import replaced
from ffi_bridge.numba_cpu.internals import (
    ENVIRONMENT,
    UNRESOLVED,
    CompileResult,
    CPUCallConv,
    CPUContext,
    Dispatcher,
    JITCodeLibrary,
    JITCPUCodegen,
    config,
    freed_passes,
    global_compiler_lock,
    lookup_environment,
    target_context,
)


class Propagating(CPUCallConv):
    """Ends the caller of a universal function where the function of an element raised, which Numba ignores.

    That element is one of a universal function; Numba marks what it calls for it as to be inlined.
    """

    def call_function(self, builder: Any, callee: Any, *types_and_args: Any, **options: Any) -> Any:
        """Emit a call, and the way out of its caller, unless that is a loop of Numba's own."""
        status, result = super().call_function(builder, callee, *types_and_args, **options)
        is_inlined = "alwaysinline" in getattr(callee, "attributes", ())  # an address has none
        if is_inlined and builder.function.ftype.return_type == status.code.type:
            raised = builder.and_(status.is_error, builder.not_(status.is_stop_iteration))
            with builder.if_then(raised, likely=False):
                self.return_status_propagate(builder, status)
        return status, result


class _Part:
    """A function to Numba, under which it finds the code to link; for Python it is compiled when called."""

    def __init__(self, library: _Library) -> None:
        self._of: Any = None  # the dispatcher, which owns it
        self.library = library

    def belongs_to(self, dispatcher: Any) -> None:
        self._of = weakref.ref(dispatcher)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        dispatcher = self._of()
        with global_compiler_lock:
            self.forget()
        return dispatcher(*args, **kwargs)

    def forget(self) -> None:
        """Have Numba compile the function anew for its next caller; one of Numba's own has no dispatcher."""
        overloads = self._of().overloads if self._of else {}
        for types in [types for types, x in overloads.items() if x.entry_point is self]:
            del overloads[types]
            target_context().remove_user_function(self)


class _Library(JITCodeLibrary):
    """A module of LLVM: finished when another is linked with it, machine code for who asks for an address.

    `is_recursive`: it, or a function that it calls, calls itself, if only through others.
    `is_whole`: nothing else is linked with it, and it is optimised. A part is optimised within a whole, not
    once for each function above it, with all that it calls; or alone, where its address is asked for. Until
    then it is bitcode: Numba keeps all parts of a process, and a module takes ten times the memory.

    A parallel loop has a function compiled twice, for the types of its callers and for those of the loop, and
    only one of the two is ever linked.
    """

    _is_added = _is_begun = is_whole = is_recursive = False
    _module: Any = None
    _bitcode = b""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._ours = codegen
        self._settings = {x: getattr(config, x) for x in ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE")}

    @property
    def _final_module(self) -> Any:
        """The module, of a finished part a new one each time."""
        return llvm.parse_bitcode(self._bitcode) if self._bitcode else self._module

    @_final_module.setter
    def _final_module(self, module: Any) -> None:
        self._module, self._bitcode = module, b""

    def finalize(self) -> None:
        self._is_begun = True
        super().finalize()
        if not (self.is_whole or self._is_added):
            self._bitcode, self._module = self._module.as_bitcode(), None

    def _get_module_for_linking(self) -> Any:
        module = super()._get_module_for_linking()
        self._shared_module = None  # a second copy, which Numba would keep
        return module

    @freed_passes()
    def _optimize_functions(self, ll_module: Any) -> None:
        """Optimise definitions alone: LLVM never gives back all memory of a builder of passes."""
        ll_module.data_layout = self._ours._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                passes, builder = self._ours._function_pass_manager()
                passes.run(function, builder)

    @freed_passes()
    def _optimize_final_module(self) -> None:
        if self.is_whole:
            with replaced(config, **self._settings):  # whoever comes to need it first
                super()._optimize_final_module()

    def _finalize_specific(self) -> None:
        self._finalized = True  # from here on another library can be linked with it
        module, codegen = self._final_module, self._ours
        # A function that calls itself may do so at an address, which a variable gets when both are there.
        names = [x.name for x in module.global_variables if x.name.startswith(UNRESOLVED)]
        self.is_recursive = bool(names)
        codegen.missing |= {x.removeprefix(UNRESOLVED) for x in names}
        for library in [codegen.libraries[x] for x in codegen.missing if x in codegen.libraries]:
            if not library._is_begun:
                library.finalize()
        there = {x: codegen.libraries[x] for x in codegen.missing if x in codegen.libraries}
        there = {x: library for x, library in there.items() if library._finalized}
        codegen.missing -= there.keys()
        if names or there:
            for library in (self, *there.values()):
                library._add()
                codegen._rtlinker.scan_unresolved_symbols(library._final_module, codegen._engine)
                codegen._rtlinker.scan_defined_symbols(library._final_module)
            # Not before all variables are there: it makes machine code, which refers to them.
            codegen._rtlinker.resolve(codegen._engine)
            for library in (self, *there.values()):
                library._provide_environments()

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function; 0 where the library has none of this name."""
        self._ensure_finalized()
        self._add()
        address: int = super().get_pointer_to_function(name)
        self._provide_environments()
        return address

    def _add(self) -> None:
        if not self._is_added:
            self._is_added = True
            self._final_module = self._final_module  # the one that the engine holds from here on
            if not self.is_whole:
                self.is_whole = True
                self._optimize_final_module()
            self._ours._engine.add_module(self._final_module)

    def _provide_environments(self) -> None:
        """Give the machine code the environments that it looks at before it raises."""
        for variable in self._final_module.global_variables:
            if variable.name.startswith(ENVIRONMENT) and not variable.is_declaration:
                environment = lookup_environment(variable.name)
                if environment is not None:
                    self._ours.set_env(variable.name, environment)


class _Codegen(JITCPUCodegen):
    """Numba's compiler for kernels; `missing`: functions that are called before a library defines them."""

    _library_class = _Library

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.libraries = weakref.WeakValueDictionary[str, _Library]()
        self.missing = set[str]()

    def _add_module(self, module: Any) -> None:
        """Leave a finished module out of the engine, which never lets go of one."""


@functools.cache
def codegen_of_parts() -> Any:
    """Return the compiler of kernels and of what they call; Numba's own holds what Python calls."""
    return _Codegen("ffi_bridge.exec")


def _without_types(compiled: CompileResult) -> CompileResult:
    """Let go of the types of all expressions, 70 KB of a function, as Numba does when its cache is read."""
    described: Any = compiled.fndesc
    described.typemap = described.calltypes = None
    return compiled._replace(type_annotation="Call the function from Python: kernels keep no types.")


@contextmanager
def as_parts() -> Generator[None]:
    """Compile all functions as parts of kernels within the block; the caller holds the compiler's lock."""
    made: list[_Part] = []

    def codegen(_: CPUContext) -> Any:
        return codegen_of_parts()

    def without_wrapper(*_: Any, **__: Any) -> None:
        pass

    def part(_: CPUContext, library: Any, described: Any, __: object) -> _Part:
        codegen_of_parts().libraries[described.llvm_func_name] = library
        made.append(_Part(library))
        return made[-1]

    def add_overload(dispatcher: Any, compiled: CompileResult) -> None:
        # Not into the table of what Python may call.
        dispatcher.overloads[tuple(compiled.signature.args)] = _without_types(compiled)
        compiled.entry_point.belongs_to(dispatcher)

    context = {"codegen": codegen, "create_cpython_wrapper": without_wrapper, "get_executable": part}
    convention = property(Propagating)
    with (
        replaced(CPUContext, call_conv=convention, **context),
        replaced(Dispatcher, add_overload=add_overload),
    ):
        try:
            yield
        finally:
            # A function for Python that was linked with one would look for its name in Numba's engine.
            for each in made:
                if each.library.is_recursive:
                    each.forget()
