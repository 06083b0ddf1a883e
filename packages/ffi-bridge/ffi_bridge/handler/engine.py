"""Turn an LLVM module that only calls known addresses into machine code, without Numba."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import binding as llvm
from llvmlite import ir


@dataclass(frozen=True)
class MachineCode:
    """The address of a function, and what keeps its memory mapped."""

    address: int
    owner: object


def new_module(name: str) -> Any:
    """Return an empty module for this machine."""
    module = ir.Module(name=name)
    module.triple = llvm.get_process_triple()
    return module


def compile_module(module: Any, opt: int = 2) -> Any:
    """Return an engine that keeps the machine code of a module's functions as long as it lives."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    machine = llvm.Target.from_triple(module.triple).create_target_machine(opt=opt)
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    return engine


def compile_function(module: Any, name: str) -> MachineCode:
    """Return the machine code of the function `name` of a module."""
    engine = compile_module(module)
    return MachineCode(engine.get_function_address(name), engine)
