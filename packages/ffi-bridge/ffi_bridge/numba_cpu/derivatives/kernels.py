"""Make the Numba kernel of a derivative: it sets buffers of tangents up, and calls Enzyme's function.

It is compiled, called in batches, guarded and kept on disk as any other kernel. Where the kernel itself
raises, so does its derivative: it calls the kernel, which says what is wrong.
"""

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ffi_bridge.handler.c_code import call_c, member, variable
from ffi_bridge.handler.frame import I32, I64, POINTER
from ffi_bridge.native.wrapped_kernel import function_of_text
from ffi_bridge.numba_cpu.derivatives.compare import SCOPE, comparison
from ffi_bridge.numba_cpu.derivatives.mode import Buffer, Mode
from ffi_bridge.numba_cpu.internals import array_parts, link_text


def source(buffers: Sequence[Buffer], mode: Mode, compared: bool) -> str:
    """Return the kernel `_written_(*inputs, *seeds, *outputs, *results)` as text.

    Each seed, and the result, is a buffer for every active input, or output, as the mode says. The outputs
    are those of the kernel itself, which runs in its derivative. `compared`: with differences, if of order 1.
    """
    inputs, outputs = ([x for x in buffers if x.is_output == side] for side in (False, True))
    active = {"in": [x.name for x in inputs if x.is_active], "out": [x.name for x in outputs if x.is_active]}
    seeds = [f"seed{k}__{x}" for k, side in enumerate(mode.seeds) for x in active[side]]
    results = [f"result__{x}" for x in active[mode.opens]]
    parameters = [*(x.name for x in inputs), *seeds, *(x.name for x in outputs), *results]
    tangents = (f"({x.name}, {', '.join(_tangents(x, mode) if x.is_active else ())})" for x in buffers)
    table = f"({', '.join(tangents)},)"
    shared = {x.begins: x.name for x in outputs}
    again = [f"{x.name}={f'{x.name}[()]' if x.is_number else shared.get(x.name, x.name)}" for x in buffers]
    lines = [
        # A derivative with a NaN is computed again, with care: see `entry`.
        f"for _careful_ in range({0 if mode.order == 1 else 1}, 2):",
        *(f"    {x}[...] = 0" for x in results),
        f"    _failed_ = _derivative_(_careful_, {table})",
        "    _undefined_ = 0",
        # by index, which becomes a loop over vectors
        *(
            f"    _flat_{x} = {x}.reshape({x}.size)\n        for _i_ in range({x}.size):\n"
            f"            _undefined_ += _flat_{x}[_i_] != _flat_{x}[_i_]"
            for x in results
        ),
        "    if _failed_ or not _undefined_:",
        "        break",
        "if _failed_:",
        *(f"    {x.name}[...] = {x.begins}" for x in outputs if x.begins),
        f"    _kernel_({', '.join(again)})",
        "    raise RuntimeError('its derivative failed where it did not: it follows no strings, and it '",
        "        'reshapes contiguous arrays alone')",
        *(comparison(buffers, mode) if compared and mode.order == 1 else ()),
    ]
    return f"def _written_({', '.join(parameters)}):\n    " + "\n    ".join(lines)


def _tangents(buffer: Buffer, mode: Mode) -> tuple[str, ...]:
    """Return the arrays of the tangents of an active buffer, in the order of the table.

    Of order 1: its derivative. Of order 2: that, and the tangents of the buffer and of its derivative.
    """
    side = "out" if buffer.is_output else "in"
    seeds = [f"seed{k}__{buffer.name}" for k, of in enumerate(mode.seeds) if of == side]
    if side == "out":  # Enzyme's reverse mode takes the covector apart
        seeds = [f"{x}.copy()" for x in seeds]
    else:
        # Enzyme takes a direction that is the input itself, in one place, for none. In the kernel's own code:
        # one that calls a function of this module is not kept on disk.
        same = "({0}.copy() if {0}.ctypes.data == {1}.ctypes.data else {0})"
        seeds = [same.format(x, buffer.name) for x in seeds]
    result = [f"result__{buffer.name}"] if mode.opens == side else []
    nothing = f"np.zeros_like({buffer.name})"
    if mode.order == 1:
        return (*seeds, *result)
    if mode.opens == "out":
        return (nothing, nothing, *result) if side == "out" else (*seeds, nothing)
    return (*seeds, nothing, nothing) if side == "out" else (nothing, *seeds, *result)


def placeholder(name: str, buffers: Sequence[Buffer], mode: Mode, compared: bool) -> Any:
    """Return the dispatcher of a derivative, which stands for it until `calling` gives it functions."""
    return numba.njit(function_of_text(name, source(buffers, mode, compared), {}, name))


def calling(kernel: Any, functions: Mapping[str, tuple[str, str]], primal: Any) -> Any:
    """Return the dispatcher of a placeholder.

    `functions`: by the name that its code has for a derivative, the function to call, and what defines it.
    """

    def linked(called: str, code: str) -> Any:
        @intrinsic
        def call(typing_context: Any, careful: Any, buffers: Any) -> tuple[Any, Callable[..., Any]]:
            def emit(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
                link_text(context, called, code)
                return _call(context, builder, called, signature.args[1], *values)

            return types.int32(types.int64, buffers), emit

        return call

    derivatives = {name: linked(*function) for name, function in functions.items()}
    scope = {"_kernel_": primal, "np": np, **SCOPE, **derivatives}
    function = kernel.py_func
    # The placeholder's code, which now finds the functions among its globals.
    return numba.njit(FunctionType(function.__code__, scope, function.__name__))


def _call(context: Any, builder: Any, called: str, kinds: Any, careful: Any, values: Any) -> Any:
    """Emit the table of addresses and extents, and the call; return the kernel's status, 0 for success."""
    status = variable(builder, ir.Constant(I32, 0), "status")
    addresses, extents = [status], []
    for i, group in enumerate(kinds):
        inside = builder.extract_value(values, i)
        arrays = [
            array_parts(context, builder, kind, builder.extract_value(inside, k))
            for k, kind in enumerate(group)
        ]
        addresses += [data for data, _ in arrays]
        extents += arrays[0][1]
    first, *rest = (builder.ptrtoint(x, I64) for x in addresses)
    entries = [first, careful, *rest, *extents]
    table = variable(builder, ir.Constant(ir.ArrayType(I64, len(entries)), None), "table")
    for i, entry in enumerate(entries):
        builder.store(entry, member(builder, table, i))
    call_c(builder, called, ir.VoidType(), [builder.bitcast(table, POINTER)])
    return builder.load(status)
