"""Find the parameters that a Numba kernel never stores to, by its machine code or by its text."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from typing import Any, Final

from llvmlite import binding as llvm
from numba.core import ir
from numba.core.compiler import CompileResult, run_frontend
from numba.core.errors import NumbaError
from numba.core.ssa import reconstruct_ssa

# LLVM's marks of a pointer that its function does not write through, itself or in what it calls.
_NEVER_WRITTEN: Final = {b"readonly", b"readnone"}
_DATA: Final = 4  # the place of an array's address in Numba's struct, and so in the name of an argument


def never_stored(compiled: CompileResult, names: Sequence[str]) -> set[str]:
    """Return the array parameters among `names` that the kernel's finished machine code never stores to.

    LLVM has followed every pointer through callees, views and tuples, and marked those that nothing is
    written through. What it cannot follow, such as arrays in the shares of a parallel region, is unmarked.
    """
    marks = {x.name: set(x.attributes) for x in _function(compiled).arguments}
    return {name for name in names if marks.get(f"arg.{name}.{_DATA}", set()) & _NEVER_WRITTEN}


def always_raises(compiled: CompileResult) -> bool:
    """Return whether every way through the kernel ends with an exception."""
    ends = [x for block in _function(compiled).blocks for x in block.instructions if x.opcode == "ret"]
    return all(_is_error(next(x.operands)) for x in ends)


@functools.cache
def unused_parameters(function: Any) -> frozenset[str]:
    """Parameters whose arrays a kernel never refers to, though it may give their names to other values."""
    with contextlib.suppress(NumbaError):  # of code that another compiler may know
        found = reconstruct_ssa(run_frontend(function))
        statements = [x for block in found.blocks.values() for x in block.body]
        used = {variable.name for x in statements for variable in _read(x)}
        return frozenset(found.arg_names) - used
    return frozenset()


def _function(compiled: CompileResult) -> Any:
    library: Any = compiled.library
    return library._final_module.get_function(compiled.fndesc.llvm_func_name)


def _is_error(status: Any) -> bool:
    """Return whether a status that the kernel returns is known not to be 0, that of success."""
    return status.value_kind == llvm.ValueKind.constant_int and status.get_constant_value() != 0


def _read(statement: Any) -> list[Any]:
    """The variables that a statement reads; the one that an assignment makes is none of them."""
    if not isinstance(statement, ir.Assign):
        return statement.list_vars()
    value = statement.value
    return [value] if isinstance(value, ir.Var) else getattr(value, "list_vars", list)()
