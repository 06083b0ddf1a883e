"""Compile the functions that a kernel calls as parts of it, without machine code of their own.

Numba compiles a function that another one calls for callers in Python, too: it emits a wrapper for them, into
which the function is inlined and optimised once more, and makes machine code of both. A kernel is linked with
LLVM's form of the function and needs none of that. For callers in Python the function is compiled anew.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from llvmlite import binding as llvm

from ffi_bridge.native.private_api import replaced
from ffi_bridge.numba_cpu.internals import (
    ENVIRONMENT,
    UNRESOLVED,
    CompileResult,
    CPUContext,
    Dispatcher,
    JITCodeLibrary,
    JITCPUCodegen,
    config,
    lookup_environment,
)

_EXPORTED: Final = (llvm.Linkage.external, llvm.Linkage.linkonce_odr)


def _change_linkage(module: Any, kinds: Sequence[llvm.Linkage], to: str) -> None:
    """Change the linkage of the functions that a module defines, where it is of these kinds."""
    for function in module.functions:
        if not function.is_declaration and function.linkage in kinds:
            function.linkage = to


class _Types(tuple[Any, ...]):
    """The types under which a dispatcher has a part: while none are compiled, Numba finds nothing by them."""

    __slots__ = ()
    are_found = False
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return self.are_found and tuple.__eq__(self, other)


class _Library(JITCodeLibrary):
    """A module of LLVM: finished when a caller is compiled, machine code when its address is asked for.

    `is_whole`: it holds all that it calls, and is optimised; no caller is linked with it. A part is linked
    and optimised within each whole that calls it, not once for each function above it; or alone, where its
    address is asked for. Until then a finished part is bitcode, which takes less memory than a module: Numba
    keeps all parts of a process.

    A parallel loop has a function compiled twice, for the types of its callers and for those of the loop, and
    only one of the two is ever linked.
    """

    _is_added = _is_begun = is_whole = False
    _module: Any = None
    _bitcode = b""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._ours = codegen
        self._settings = {x: getattr(config, x) for x in ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE")}
        self._callees = list[Any]()

    @property
    def _final_module(self) -> Any:
        """The module, a new one of bitcode each time."""
        return llvm.parse_bitcode(self._bitcode) if self._bitcode else self._module

    @_final_module.setter
    def _final_module(self, module: Any) -> None:
        self._module, self._bitcode = module, b""

    def add_linking_library(self, library: Any) -> None:
        library._ensure_finalized()
        self._reload_init |= library._reload_init
        self._callees.append(library)

    def linked(self) -> list[Any]:
        """Return the libraries that a whole is linked with: callees, and theirs, each once."""
        found, waiting = dict[Any, None](), [self]
        while waiting:
            for library in waiting.pop()._callees:
                if library not in found:
                    found[library] = None
                    # A library of Numba's has all that it calls in its module.
                    waiting += [library] if isinstance(library, _Library) else []
        return list(found)

    def finalize(self) -> None:
        self._is_begun = True
        super().finalize()
        if not self.is_whole:
            self._bitcode, self._module = self._module.as_bitcode(), None

    def _optimize_functions(self, ll_module: Any) -> None:
        """Optimise definitions alone: LLVM never gives back all memory of a function's passes."""
        ll_module.data_layout = self._ours._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                passes, builder = self._ours._function_pass_manager()
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        """Link a whole and optimise it; leave a part as it is."""
        if self.is_whole:
            self._link_in_callees(self._final_module)
            with replaced(config, **self._settings):  # as its functions were emitted, whoever needs it
                super()._optimize_final_module()

    def _link_in_callees(self, whole: Any) -> None:
        for library in self.linked():
            module = library._final_module.clone()
            # Weak, since what may be left out is linked only where something linked before refers to it.
            _change_linkage(module, _EXPORTED, "weak_odr")
            whole.link_in(module)
        _change_linkage(whole, (llvm.Linkage.weak_odr,), "linkonce_odr")

    def _get_module_for_linking(self) -> Any:
        """Return a copy with all callees, for a library of Numba's, which asks its own callees alone.

        Numba keeps functions of its own that it compiled as parts, and takes them for callers in Python.
        """
        self._ensure_finalized()
        module = self._final_module.clone()
        self._link_in_callees(module)
        _change_linkage(module, _EXPORTED, "linkonce_odr")
        return module

    def _verify_declare_only_symbols(self) -> None:
        if self.is_whole:
            super()._verify_declare_only_symbols()

    def _finalize_specific(self) -> None:
        self._finalized = True  # from here on another library can be linked with it
        module, codegen = self._final_module, self._ours
        # A function that calls itself may do so at an address, which a variable gets when both are there.
        names = [x.name for x in module.global_variables if x.name.startswith(UNRESOLVED)]
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
            self._final_module = self._final_module  # no longer bitcode
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


@contextmanager
def as_parts() -> Generator[None]:
    """Compile all functions as parts of kernels within the block; the caller holds the compiler's lock."""

    def codegen(_: CPUContext) -> Any:
        return codegen_of_parts()

    def without_wrapper(*_: Any, **__: Any) -> None:
        pass

    # Numba finds what to link by the object that it would call from Python.
    def key_of_part(_: CPUContext, library: Any, described: Any, __: object) -> object:
        codegen_of_parts().libraries[described.llvm_func_name] = library
        return object()

    def add_overload(dispatcher: Any, compiled: CompileResult) -> None:
        # Not into the table of what Python may call.
        dispatcher.overloads[_Types(compiled.signature.args)] = compiled

    context = {"codegen": codegen, "create_cpython_wrapper": without_wrapper, "get_executable": key_of_part}
    dispatcher, types = replaced(Dispatcher, add_overload=add_overload), replaced(_Types, are_found=True)
    with replaced(CPUContext, **context), dispatcher, types:
        yield
