"""Numba's thread pool, as kernels that XLA calls from threads of its own need it.

The `workqueue` layer ends the process where a parallel region begins while another runs: two threads enter,
or a region is inside of another. Regions reach the pool by a name; under it LLVM is given a function that
enters where nobody else is in, and else runs the whole region in the calling thread.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numba
from llvmlite import binding as llvm
from llvmlite import ir
from numba.np.ufunc import parallel

from ffi_bridge.handler.engine import MachineCode, compile_function, new_module

ENTRY: Final = "numba_parallel_for"

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_TEXT, _SIZES = _I8.as_pointer(), _I64.as_pointer()
_REGION: Final = (_TEXT.as_pointer(), _SIZES, _SIZES, _TEXT)  # arrays, extents, strides, data
_BODY: Final = ir.FunctionType(ir.VoidType(), _REGION)
# A body and its region, then inner dimensions, arrays, threads.
_ENTER: Final = ir.FunctionType(ir.VoidType(), (_BODY.as_pointer(), *_REGION, _I64, _I64, _I64))


def start_threads() -> None:
    """Load the threading layer, and give LLVM the names of its functions."""
    numba.get_num_threads()
    if parallel.threading_layer() == "workqueue":
        _admit_one()


@functools.cache
def _admit_one() -> MachineCode:
    """What is compiled or loaded from here on never finds the pool occupied."""
    admitting = _admitting(llvm.address_of_symbol(ENTRY))
    llvm.add_symbol(ENTRY, admitting.address)
    return admitting


def _admitting(enter: int) -> MachineCode:
    """A function that calls the one at `enter`, unless a call of it is under way."""
    module = new_module("ffi_bridge.one_in_the_pool")
    occupied: Any = ir.GlobalVariable(module, _I32, "occupied")
    occupied.initializer = ir.Constant(_I32, 0)
    function = ir.Function(module, _ENTER, name="enter_or_run")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    free, taken = ir.Constant(_I32, 0), ir.Constant(_I32, 1)
    before: Any = builder.cmpxchg(occupied, free, taken, "acquire", "monotonic")
    body, *region = function.args[:5]
    with builder.if_else(builder.extract_value(before, 1)) as (alone, otherwise):
        with alone:
            pool = builder.inttoptr(ir.Constant(_I64, enter), _ENTER.as_pointer())
            builder.call(pool, function.args)
            builder.store_atomic(free, occupied, "release", 4)
        with otherwise:
            builder.call(body, region)
    builder.ret_void()
    return compile_function(module, function.name)
