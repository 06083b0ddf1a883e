"""Arguments that a call leaves to their defaults, as constants of a function: branches on them are decided.

Numba gives such an argument a type with the value in it, but compiles both branches of an `if` on it, also
one that makes no sense for the value: `if axis is None: ... else: x.sum(axis)` alone is decided early.
"""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numba import types

from ffi_bridge.native.parameters import with_defaults
from ffi_bridge.numba_cpu.internals import (
    FunctionPass,
    IRProcessing,
    numba_ir,
    pipeline_of,
    redefine,
    register_pass,
)
from ffi_bridge.numba_cpu.layout import Constant


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
                manager.add_pass_after(_Constants, IRProcessing)
                manager.finalize()
            return managers

    return Pipeline


def specialised(dispatcher: Any, /, **constants: Any) -> Any:
    """Return a dispatcher for calls that leave out the parameters `constants`, which have these values."""
    options: dict[str, Any] = dispatcher.targetoptions
    function = with_defaults(dispatcher.py_func, constants)
    pipeline = with_constants(pipeline_of(dispatcher))
    return numba.jit(**options, locals=dispatcher.locals, pipeline_class=pipeline)(function)
