"""Kernels made of functions that return their results: what is returned is stored in the outputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import overload

from ffi_bridge.errors import KernelTypeError
from ffi_bridge.native.wrapped_kernel import written
from ffi_bridge.numba_cpu.constants import specialised
from ffi_bridge.numba_cpu.internals import as_dtype


def storing(function: Any, inputs: Sequence[str], constants: Mapping[str, Any], num_outs: int) -> Any:
    """Return the kernel that calls `function` and stores what it returns in `num_outs` outputs.

    The parameters `inputs` are the kernel's own; the others are constants of it.
    """
    plain = getattr(function, "py_func", function)
    called, given = function, list(inputs)
    if constants:  # which may stand between the inputs
        called = (functools.partial if plain is function else specialised)(function, **constants)
        given = [f"{name}={name}" for name in inputs]
    outs = [f"out_{i}" for i in range(num_outs)]
    # Written out, since a kernel has a parameter for each buffer.
    call = f"_called_({', '.join(given)})"
    text = f"def _written_({', '.join([*inputs, *outs])}): _store_({call}, ({', '.join(outs)},))"
    scope = {"_called_": called, "_store_": store}
    kernel: Any = written(plain.__name__, text, scope, f"what {plain.__name__} returns")
    return kernel if plain is function else numba.njit(kernel)


def store(returned: Any, outs: Any) -> None:
    """Store a value, or one of a tuple in each output."""
    values = returned if isinstance(returned, tuple) else (returned,)
    if problem := _mismatch(numba.typeof(values), numba.typeof(outs)):
        raise KernelTypeError(problem)
    for value, out in zip(values, outs, strict=True):
        _write(value, out)


@overload(store, strict=False)
def _store(returned: Any, outs: Any) -> Any:
    if not isinstance(returned, types.BaseTuple):
        return lambda returned, outs: store((returned,), outs)
    if problem := _mismatch(returned, outs):
        raise KernelTypeError(problem)
    if len(outs) == 1:
        return lambda returned, outs: _write(returned[0], outs[0])

    def one_after_another(returned: Any, outs: Any) -> None:
        _write(returned[0], outs[0])
        store(returned[1:], outs[1:])

    return one_after_another


def _mismatch(returned: Any, outs: Any) -> str:
    """Say which results are not what the outputs can take; nothing if all are."""
    if len(returned) != len(outs):
        return f"it returns {len(returned)} values; expected {len(outs)}, as many as outs has"
    for i, (value, out) in enumerate(zip(returned, outs, strict=True)):
        is_array = isinstance(value, types.Array)
        if not (is_array or isinstance(value, types.Number | types.Boolean)):
            return f"result {i} is {value}; expected an array or a number"
        given, expected = (
            np.dtype(as_dtype(x.dtype if isinstance(x, types.Array) else x)) for x in (value, out)
        )
        ndim = value.ndim if is_array else 0
        # Numba computes with numbers of 64 bits, whatever they come from.
        fits = given == expected if is_array else np.can_cast(given, expected, "same_kind")
        if ndim != out.ndim or not fits:
            return (
                f"result {i} is {given} with {ndim} dimensions; expected {expected} with {out.ndim}, as outs "
                "says: change outs, or cast it in the function"
            )
    return ""


def _write(value: Any, out: Any) -> None:
    """Copy an array of the output's shape, or a number that its dtype can hold."""
    if np.shape(value) != out.shape:
        raise ValueError("returned an array of shape", np.shape(value), "where outs says", out.shape)
    if np.ndim(value) == 0 and out.dtype.kind in "iu" and out.dtype.type(value) != value:
        raise OverflowError("returned a number that the dtype of outs cannot hold", value)
    out[...] = value


@overload(_write, strict=False)
def _write_natively(value: Any, out: Any) -> Callable[..., None]:
    if isinstance(value, types.Array):

        def copy(value: Any, out: Any) -> None:
            if value.shape != out.shape:
                raise ValueError("returned an array of shape", value.shape, "where outs says", out.shape)
            out[...] = value

        return copy
    if isinstance(value, types.Integer) and isinstance(out.dtype, types.Integer):
        kind = as_dtype(out.dtype).type

        def cast(value: Any, out: Any) -> None:
            if kind(value) != value:
                raise OverflowError("returned a number that the dtype of outs cannot hold", value)
            out[()] = kind(value)

        return cast

    def assign(value: Any, out: Any) -> None:
        out[()] = value

    return assign
