"""Kernels that are made of a kernel: an entry point of arrays alone, and one for a whole batch.

Handlers pass arrays, and none of the numbers and constants that a kernel may take. The blocks of a batch
along the third axis take its elements.

A launch has as many dimensions as a kernel asks `cuda.grid(n)` and `cuda.gridsize(n)` for, which is checked.
CUDA itself takes any number: coordinates that a launch lacks are 0, and threads along an axis that a kernel
does not ask for do the same work again.
"""

import contextlib
import dis
import functools
import math
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any, Final

import numpy as np

from ffi_bridge.cuda.extents import MAX_GRID
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.identity.references import reached
from ffi_bridge.native.exact import Constants, exact_key
from ffi_bridge.native.parameters import Parameters, with_defaults
from ffi_bridge.native.wrapped_kernel import function_of_text
from ffi_bridge.numba_cpu.internals import NumbaError, numba_ir, run_frontend
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
    defaults = {name: _exact_constant(value) for name, value in constants}
    with_constants = compiler.like(kernel, with_defaults(kernel.py_func, defaults))
    names = [x.name for x in parameters.buffers]
    arguments = (f"{name}={name}[()]" if name in parameters.scalars else f"{name}={name}" for name in names)
    inner = "_".join(["kernel", *names])  # longer than any of them
    lines = [f"def _written_({', '.join(names)}):", f"    {inner}({', '.join(arguments)})"]
    function = generated(kernel, lines, {inner: compiler.device_function(with_constants)})
    return compiler.like(kernel, function)


def _exact_constant(value: Any) -> Any:
    """Return a constant whose floats have hashes of all bits: to Numba, types of equal constants are one."""
    if type(value) is tuple:
        return tuple(map(_exact_constant, value))
    return _with_bits(type(value))(value) if type(value) in _FLOATS else value


@functools.cache
def _with_bits(kind: type) -> type:
    return type(kind.__name__, (kind,), {"__hash__": lambda x: hash(exact_key(x))})


def generated(kernel: Any, lines: list[str], names: dict[str, Any]) -> FunctionType:
    """Return the function that this text defines as `_written_`, as if it stood where the kernel does.

    Numba compiles functions of a fixed number of arguments, so that one for any kernel is made from text.
    """
    function = function_of_text(kernel.__name__, "\n".join(lines), names, kernel.__name__)
    place = kernel.py_func.__code__
    function.__code__ = function.__code__.replace(
        co_filename=place.co_filename, co_firstlineno=place.co_firstlineno
    )
    return function


def batch_blocks(sizes: Sequence[int]) -> int:
    """Return the number of blocks along the third axis for a batch; each may take several elements."""
    return min(math.prod(sizes), MAX_GRID[2])


def _python_of(value: Any) -> Any:
    return getattr(value, "py_func", value)


def uses_third_axis(function: Any) -> bool:
    """Return whether a kernel, or a function in it, may ask for its place along the third axis."""
    codes = (callee.__code__ for callee in reached(function, _python_of))
    return any(
        # A doubt costs a launch for each element, and no wrong result.
        "z" in code.co_names or ({"grid", "gridsize"} & set(code.co_names) and 3 in _integers_in(code))
        for code in codes
    )


def _integers_in(code: CodeType) -> set[int]:
    """Return the integers that code loads; from Python 3.14 on small ones are no constants of it."""
    return {x.argval for x in dis.get_instructions(code) if "LOAD" in x.opname and isinstance(x.argval, int)}


@functools.cache
def batched_kernel(
    kernel: Any, sizes: tuple[int, ...], steps: tuple[tuple[int | None, ...], ...], ranks: tuple[int, ...]
) -> Any:
    """Return the kernel that does the work of `kernel` for each element of a batch.

    `sizes`: extents of the batch levels; `steps[i][l]`: how far argument i moves on from one index of level l
    to the next, in elements; None if it has no axis for that level, in front of the `ranks[i]` of its own.
    """
    count = math.prod(sizes)
    parameters = [f"x{i}" for i in range(len(steps))]
    lines = [f"def _written_({', '.join(parameters)}):"]
    lines += [f"    for element in range(_cuda_.blockIdx.z, {count}, _cuda_.gridDim.z):"]
    rest = count
    for level, size in enumerate(sizes):
        # A batch may be empty; no index is computed then.
        rest //= max(1, size)
        lines += [f"        i{level} = element // {max(1, rest)} % {max(1, size)}"]
    arguments = (_argument(*of_one) for of_one in zip(parameters, steps, ranks, strict=True))
    lines += [f"        _of_one_({', '.join(arguments)})"]
    if count > MAX_GRID[2]:  # a block takes several elements, in the same shared memory
        lines += ["        _cuda_.syncthreads()"]
    compiler = compiler_of(kernel)
    inner = compiler.device_function(kernel)
    names: dict[str, Any] = {"_cuda_": compiler.cuda, "_of_one_": inner, "_element_of_": compiler.element}
    return compiler.like(kernel, generated(kernel, lines, names))


def _argument(parameter: str, steps: tuple[int | None, ...], rank: int) -> str:
    """Return source text that takes one element of a batch out of a parameter."""
    levels = [level for level, step in enumerate(steps) if step is not None]
    if not levels:
        return parameter
    if rank:
        return f"{parameter}[{', '.join(f'i{level}' for level in levels)}]"
    return f"_element_of_({parameter}, {' + '.join(f'i{level} * {steps[level]}' for level in levels)})"


def check_rank(subject: str, kernel: Any, rank: int, option: str) -> None:
    """Raise KernelDefinitionError where `option` has another number of dimensions than the kernel asks for.

    More are right for a kernel that reads its place along each of the others by itself, as `threadIdx.y`.
    """
    functions = list(reached(kernel.py_func, _python_of))
    axes = max((n for f in functions for n in _axes_asked_for(f, compiler_of(kernel).cuda)), default=rank)
    names = {name for function in functions for name in function.__code__.co_names}
    if axes > rank:
        why = f"so that the last {axes - rank} would always be 0"
    elif axes < rank and option == "launch_dims" and not names.issuperset("xyz"[axes:rank]):
        why = "and threads along the others would do the same again"
    else:
        return
    raise KernelDefinitionError(
        f"{subject} asks cuda.grid or cuda.gridsize for {axes} {'axis' if axes == 1 else 'axes'}, and "
        f"{option} has {rank}, {why}; give {option} with {axes}, or ask for {rank} in the kernel"
    )


def _axes_asked_for(function: FunctionType, cuda: Any) -> Iterator[int]:
    """Yield the numbers that a function gives `cuda.grid` and `cuda.gridsize`."""
    with contextlib.suppress(NumbaError):  # the compiler of the kernel names what is wrong
        function_ir = run_frontend(function)
        for block in function_ir.blocks.values():
            for call in block.find_exprs("call"):
                with contextlib.suppress(NumbaError, KeyError, AttributeError):
                    if _value(function_ir, call.func) in (cuda.grid, cuda.gridsize):
                        yield int(function_ir.infer_constant(call.args[0]))


def _value(function: Any, variable: Any) -> Any:
    """Return the value of a global name, or of an attribute of one; raise KeyError for anything else."""
    definition = function.get_definition(variable)
    if isinstance(definition, numba_ir.Global | numba_ir.FreeVar):
        return definition.value
    if isinstance(definition, numba_ir.Expr) and definition.op == "getattr":
        return getattr(_value(function, definition.value), definition.attr)
    raise KeyError(variable)
