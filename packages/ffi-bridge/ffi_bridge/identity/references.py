"""Find the values that a function reads from outside: closure cells, globals, attributes of modules."""

import dis
import functools
import types
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, takewhile
from typing import Any, Final

# The instructions of bytecode that read names from outside, and attributes of what was read.
_GLOBALS: Final = ("LOAD_GLOBAL", "LOAD_NAME")
_CELLS: Final = ("LOAD_DEREF", "LOAD_CLASSDEREF")
# From Python 3.12 on methods are read by LOAD_ATTR, too.
_ATTRIBUTES: Final = ("LOAD_ATTR", "LOAD_METHOD")


def names_in(code: types.CodeType) -> set[str]:
    """Return every global name and attribute that code reads, also in functions within it."""
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*map(names_in, inner))


def references(function: types.FunctionType, code: types.CodeType) -> Iterator[tuple[str, Any]]:
    """Yield name and value of everything that `code` reads from outside: cells, globals, attributes."""
    cells = _closure(function)
    for name, is_global, attributes in _reads(code):
        outside = function.__globals__ if is_global else cells
        if name in outside:
            yield _attribute(name, outside[name], attributes)


@functools.lru_cache(4096)
def _reads(code: types.CodeType) -> tuple[tuple[str, bool, tuple[str, ...]], ...]:
    """Return the names that `code`, with the functions within it, reads from outside.

    Of each: the name, whether it is a global one, and the attributes of it that are read.
    """
    reads: list[tuple[str, bool, tuple[str, ...]]] = []
    instructions = list(dis.get_instructions(code))
    for position, instruction in enumerate(instructions):
        if instruction.opname in _GLOBALS or instruction.opname in _CELLS:
            following = takewhile(lambda i: i.opname in _ATTRIBUTES, instructions[position + 1 :])
            attributes = tuple(i.argval for i in following)
            reads.append((instruction.argval, instruction.opname in _GLOBALS, attributes))
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return (*reads, *chain.from_iterable(map(_reads, inner)))


def reached(function: types.FunctionType, python_of: Callable[[Any], Any]) -> Iterator[types.FunctionType]:
    """Yield a kernel's function, and the functions that it calls, once each.

    `python_of`: the function of Python in an object of the compiler; None for anything else.
    """
    seen, pending = set[int](), [function]
    while pending:
        if id(current := pending.pop()) not in seen:
            seen.add(id(current))
            yield current
            called = (python_of(value) for _, value in references(current, current.__code__))
            pending += [f for f in called if isinstance(f, types.FunctionType)]


def _closure(function: types.FunctionType) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    values: dict[str, Any] = {}
    for name, cell in cells:
        try:
            values[name] = cell.cell_contents
        except ValueError:  # a name that its enclosing function has not bound yet
            values[name] = "unbound"
    return values


def _attribute(name: str, value: Any, following: Iterable[str]) -> tuple[str, Any]:
    """Follow `module.attribute.attribute`, which Numba freezes like a global."""
    for attribute in following:
        if not isinstance(value, types.ModuleType):
            break
        name, value = f"{name}.{attribute}", getattr(value, attribute, None)
    return name, value
