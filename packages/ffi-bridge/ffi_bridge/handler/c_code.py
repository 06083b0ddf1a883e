"""Emit functions, calls, variables, members and counted loops: one line of C, and several of LLVM.

A module that only calls known addresses becomes machine code here, too. Numba is not used, since Warp kernels
have handlers where Numba is not installed.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llvmlite import binding as llvm
from llvmlite import ir

from ffi_bridge.handler.frame import I32


@dataclass(frozen=True)
class MachineCode:
    """The address of a function, and the owner that keeps its memory mapped."""

    address: int
    owner: object


def new_module(name: str) -> Any:
    """Return an empty module for this machine."""
    module = ir.Module(name=name)
    module.triple = llvm.get_process_triple()
    return module


def compile_module(module: Any, opt: int = 2) -> Any:
    """Return an engine that keeps the machine code of a module, or of its text, as long as it lives."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    parsed = llvm.parse_assembly(str(module))
    # On a module that is not valid LLVM's passes may end the process.
    parsed.verify()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(opt=opt)
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    return engine


def compile_function(module: Any, name: str) -> MachineCode:
    """Return the machine code of the function `name` of a module."""
    engine = compile_module(module)
    return MachineCode(engine.get_function_address(name), engine)


def call_c(
    builder: Any, name: str, result: Any, arguments: Sequence[Any], variadic_from: int | None = None
) -> Any:
    """Emit a call of the C function `name`; arguments from number `variadic_from` on are its `...`."""
    fixed = [argument.type for argument in arguments[:variadic_from]]
    # Some platforms pass what is behind `...` in other places than the arguments before.
    kind = ir.FunctionType(result, fixed, var_arg=variadic_from is not None)
    declared = builder.module.globals.get(name)
    return builder.call(ir.Function(builder.module, kind, name) if declared is None else declared, arguments)


def external(module: Any, symbol: str, of_type: Any) -> Any:
    """Return the variable `symbol`, which is defined outside of the module."""
    declared = module.globals.get(symbol)
    return ir.GlobalVariable(module, of_type, symbol) if declared is None else declared


def variable(builder: Any, initial: Any, name: str) -> Any:
    """Return the address of a new variable on the stack; in a loop it is one variable, set in each turn."""
    with builder.goto_entry_block():
        place = builder.alloca(initial.type, name=name)
    builder.store(initial, place)
    return place


@contextmanager
def count_to(builder: Any, extent: Any) -> Generator[Any]:
    """Emit the block as the body of `for index in range(extent)`; yield the index."""
    function, start = builder.function, builder.block
    test, body, done = (function.append_basic_block(f"loop.{part}") for part in ("test", "body", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    index = builder.phi(extent.type)
    index.add_incoming(ir.Constant(extent.type, 0), start)
    builder.cbranch(builder.icmp_signed("<", index, extent), body, done)
    builder.position_at_end(body)
    yield index
    # The emitted body may have ended in another block than it began in.
    index.add_incoming(builder.add(index, ir.Constant(extent.type, 1)), builder.block)
    builder.branch(test)
    builder.position_at_end(done)


def begin_function(module: Any, name: str, kind: Any) -> tuple[Any, Any]:
    """Return a builder at the beginning of a new function, and the function's arguments."""
    function = ir.Function(module, kind, name)
    return ir.IRBuilder(function.append_basic_block("entry")), function.args


def member(builder: Any, struct: Any, index: int) -> Any:
    """Return the address of a member of the struct at the address `struct`."""
    return builder.gep(struct, [ir.Constant(I32, 0), ir.Constant(I32, index)])


def load_member(builder: Any, struct: Any, index: int) -> Any:
    """Return the value of a member of the struct at the address `struct`."""
    return builder.load(member(builder, struct, index))
