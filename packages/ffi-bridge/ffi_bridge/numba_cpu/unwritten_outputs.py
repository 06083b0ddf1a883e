"""Find the parameters that a Numba kernel never stores to, by its machine code or by its text."""

import contextlib
import functools
from collections.abc import Sequence
from typing import Any

from llvmlite import binding as llvm

from ffi_bridge.numba_cpu import internals
from ffi_bridge.numba_cpu.internals import CompileResult
from ffi_bridge.numba_cpu.pointers import NEVER_WRITTEN, Fate, Followed


def without_stores(compiled: CompileResult, names: Sequence[str]) -> set[str]:
    """Return the array parameters among `names` that the kernel's finished machine code never stores to.

    LLVM has followed every pointer through callees, views and tuples, and marked those that nothing is
    written through. What it cannot follow, such as arrays in the shares of a parallel region, is unmarked.
    """
    marks = {x.name: set(x.attributes) for x in internals.function_of(compiled).arguments}
    return {name for name in names if marks.get(internals.data_argument(name), set()) & NEVER_WRITTEN}


def fates(compiled: CompileResult, names: Sequence[str]) -> dict[str, Fate]:
    """Return the fates of the array parameters among `names` that the kernel may store to, by name."""
    proven = without_stores(compiled, names)
    # To follow an address takes far longer than to read marks.
    if not (open_ones := [name for name in names if name not in proven]):
        return {}
    function, followed = internals.function_of(compiled), Followed(internals.finished_module(compiled))
    places = {x.name: i for i, x in enumerate(function.arguments)}
    arguments = {name: internals.data_argument(name) for name in open_ones}
    numbered = {name: places[place] for name, place in arguments.items() if place in places}
    by_name = {name: followed.fate(function.name, number) for name, number in numbered.items()}
    return {name: fate for name, fate in by_name.items() if not fate.is_read_only}


def always_raises(compiled: CompileResult) -> bool:
    """Return whether every way through the kernel ends with an exception."""
    blocks = internals.function_of(compiled).blocks
    ends = [next(x.operands) for block in blocks for x in block.instructions if x.opcode == "ret"]
    # A status other than 0, which is that of success.
    constant = llvm.ValueKind.constant_int
    return all(x.value_kind == constant and x.get_constant_value() != 0 for x in ends)


@functools.cache
def unused_parameters(function: Any) -> frozenset[str]:
    """Return the parameters whose arrays a kernel never refers to, though it may reuse their names."""
    with contextlib.suppress(internals.NumbaError):  # a kernel for another compiler may be none for Numba's
        # In SSA form a second value of a parameter's name is another variable.
        function_ir = internals.reconstruct_ssa(internals.run_frontend(function))
        statements = [x for block in function_ir.blocks.values() for x in block.body]
        used = {variable.name for x in statements for variable in _read(x)}
        return frozenset(function_ir.arg_names) - used
    return frozenset()


def _read(statement: Any) -> list[Any]:
    """Return the variables that a statement reads; not the one that it assigns to."""
    if not isinstance(statement, internals.numba_ir.Assign):
        return statement.list_vars()
    value = statement.value
    return [value] if isinstance(value, internals.numba_ir.Var) else getattr(value, "list_vars", list)()
