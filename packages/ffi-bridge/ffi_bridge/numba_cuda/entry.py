"""The entry point of a kernel with numbers and constants: it takes arrays alone, as handlers pass them."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from ffi_bridge.errors import KernelTypeError
from ffi_bridge.native.parameters import Constants, Parameters, with_defaults
from ffi_bridge.numba_cuda.compile import compiler_of


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
    with_constants = compiler.like(kernel, with_defaults(kernel.py_func, dict(constants)))
    names = [x.name for x in parameters.buffers]
    given = (f"{name}={name}[()]" if name in parameters.scalars else f"{name}={name}" for name in names)
    inner = "_".join(["kernel", *names])  # longer than any of them
    lines = [f"def {kernel.__name__}({', '.join(names)}):", f"    {inner}({', '.join(given)})"]
    function = generated(kernel, lines, {inner: compiler.device_function(with_constants)})
    return compiler.like(kernel, function)


def generated(kernel: Any, lines: list[str], names: dict[str, Any]) -> FunctionType:
    """Return the function of a kernel's name that this text defines, as if it stood where the kernel does.

    Numba compiles functions of a fixed number of arguments, so that one for any kernel is made from text.
    """
    exec("\n".join(lines), names)
    function: FunctionType = names[kernel.__name__]
    place = kernel.py_func.__code__
    function.__code__ = function.__code__.replace(
        co_filename=place.co_filename, co_firstlineno=place.co_firstlineno
    )
    return function
