"""Check that a launch has as many dimensions as a CUDA kernel asks `cuda.grid(n)` and `cuda.gridsize(n)` for.

CUDA itself takes any number: coordinates that a launch lacks are 0, and threads along an axis that a kernel
does not ask for do the same work again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import FunctionType
from typing import Any, Final

from ffi_bridge.errors import KernelDefinitionError
from ffi_bridge.identity.references import references
from ffi_bridge.numba_cpu.internals import NumbaError, numba_ir, run_frontend
from ffi_bridge.numba_cuda.compile import compiler_of

_AXES: Final = "xyz"


def check_rank(subject: str, kernel: Any, given: int, option: str) -> None:
    """Raise KernelDefinitionError where `option` has another number of dimensions than the kernel asks for.

    More are right for a kernel that reads its place along each of the others by itself, as `threadIdx.y`.
    """
    functions = list(_functions(kernel.py_func))
    asked = max((n for f in functions for n in _asked(f, compiler_of(kernel).cuda)), default=given)
    if asked > given:
        why = f"so that the last {asked - given} would always be 0"
    elif asked < given and option == "launch_dims" and not _reads(functions, _AXES[asked:given]):
        why = "and threads along the others would do the same again"
    else:
        return
    raise KernelDefinitionError(
        f"{subject} asks cuda.grid or cuda.gridsize for {asked} {'axis' if asked == 1 else 'axes'}, and "
        f"{option} has {given}, {why}; give {option} with {asked}, or ask for {given} in the kernel"
    )


def _functions(function: FunctionType) -> Iterator[FunctionType]:
    """Yield a kernel and the device functions that it calls."""
    seen, left = set[int](), [function]
    while left:
        if id(found := left.pop()) not in seen:
            seen.add(id(found))
            yield found
            called = (getattr(value, "py_func", value) for _, value in references(found, found.__code__))
            left += [f for f in called if isinstance(f, FunctionType)]


def _reads(functions: list[FunctionType], axes: str) -> bool:
    names = {name for function in functions for name in function.__code__.co_names}
    return set(axes) <= names


def _asked(function: FunctionType, cuda: Any) -> Iterator[int]:
    """Yield the numbers that a function gives `cuda.grid` and `cuda.gridsize`."""
    with contextlib.suppress(NumbaError):  # the compiler of the kernel names what is wrong
        found = run_frontend(function)
        for block in found.blocks.values():
            for call in block.find_exprs("call"):
                with contextlib.suppress(NumbaError, KeyError, AttributeError):
                    if _value(found, call.func) in (cuda.grid, cuda.gridsize):
                        yield int(found.infer_constant(call.args[0]))


def _value(function: Any, variable: Any) -> Any:
    """Return the value of a global name, or of an attribute of one; raise KeyError for anything else."""
    definition = function.get_definition(variable)
    if isinstance(definition, numba_ir.Global | numba_ir.FreeVar):
        return definition.value
    if isinstance(definition, numba_ir.Expr) and definition.op == "getattr":
        return getattr(_value(function, definition.value), definition.attr)
    raise KeyError(variable)
