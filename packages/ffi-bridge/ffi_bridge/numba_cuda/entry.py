"""The entry point of a kernel with numbers and constants: it takes arrays alone, as handlers pass them."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any, Final

import numpy as np

from ffi_bridge.errors import KernelTypeError
from ffi_bridge.native.exact import Constants, contents
from ffi_bridge.native.parameters import Parameters, with_defaults
from ffi_bridge.native.wrapped_kernel import written
from ffi_bridge.numba_cuda.compile import compiler_of

_FLOATS: Final = {float, complex, np.float32, np.float64, np.complex64, np.complex128}


def entry_of(kernel: Any, parameters: Parameters, constants: Constants) -> Any:
    """Return the kernel of all arrays that gives `kernel` its numbers, which are in memory, and constants.

    Raises KernelTypeError for a constant that its compiler cannot have.
    """
    if not (parameters.scalars or constants):
        return kernel
    compiler = compiler_of(kernel)
    for name, value in constants:
        if not compiler.takes_constant(value):
            raise KernelTypeError(
                f"kernel '{kernel.__name__}': {name}={value!r} is no constant that {compiler.version} knows; "
                "expected a number, a bool, a string, None or a tuple of those: give one that stands for it, "
                "or use numba-cuda"
            )
    # Constants that are equal, such as 1 and 1.0, are told apart by their text.
    return _entry(kernel, parameters, constants, repr(constants))


@functools.cache
def _entry(kernel: Any, parameters: Parameters, constants: Constants, _: str) -> Any:
    compiler = compiler_of(kernel)
    defaults = {name: _told_apart(value) for name, value in constants}
    with_constants = compiler.like(kernel, with_defaults(kernel.py_func, defaults))
    names = [x.name for x in parameters.buffers]
    given = (f"{name}={name}[()]" if name in parameters.scalars else f"{name}={name}" for name in names)
    inner = "_".join(["kernel", *names])  # longer than any of them
    lines = [f"def _written_({', '.join(names)}):", f"    {inner}({', '.join(given)})"]
    function = generated(kernel, lines, {inner: compiler.device_function(with_constants)})
    return compiler.like(kernel, function)


def _told_apart(value: Any) -> Any:
    """Return a constant whose floats have hashes of all bits: to Numba, types of equal constants are one."""
    if type(value) is tuple:
        return tuple(map(_told_apart, value))
    return _with_bits(type(value))(value) if type(value) in _FLOATS else value


@functools.cache
def _with_bits(kind: type) -> type:
    return type(kind.__name__, (kind,), {"__hash__": lambda x: hash(contents(x))})


def generated(kernel: Any, lines: list[str], names: dict[str, Any]) -> FunctionType:
    """Return the function that this text defines as `_written_`, as if it stood where the kernel does.

    Numba compiles functions of a fixed number of arguments, so that one for any kernel is made from text.
    """
    function = written(kernel.__name__, "\n".join(lines), names, kernel.__name__)
    place = kernel.py_func.__code__
    function.__code__ = function.__code__.replace(
        co_filename=place.co_filename, co_firstlineno=place.co_firstlineno
    )
    return function
