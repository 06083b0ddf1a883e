"""A PTX module: its variables have memory, and its kernels are compiled when they are asked for."""

import itertools
from collections.abc import MutableMapping
from typing import Any, Final

import numpy as np

from ptx_on_cpu.buffers import ADDRESS_BITS, PARAMETERS, Buffer
from ptx_on_cpu.errors import LaunchError, UnsupportedError
from ptx_on_cpu.kernel import Checks, Kernel
from ptx_on_cpu.syntax.inline import inlined
from ptx_on_cpu.syntax.parse import parse
from ptx_on_cpu.syntax.program import Function, Variable, aligned, literal, readable, width
from ptx_on_cpu.translate.control import BUILTIN
from ptx_on_cpu.translate.operands import Layout

_FIRST_VARIABLE: Final = PARAMETERS + 1  # the number of its buffer
_ALIGNMENT: Final = 256  # of variables, at least, as a GPU has it


class Module:
    """A module of PTX, from its text; `objects` keeps machine code of its kernels between processes.

    Raises PtxSyntaxError for text that is no PTX.
    """

    def __init__(self, ptx: str | bytes, *, objects: MutableMapping[str, bytes] | None = None) -> None:
        self._program = parse(ptx.decode() if isinstance(ptx, bytes) else ptx)
        self._objects = objects
        # Of all kernels together: they share variables, in which a pointer may be kept.
        self._launches = itertools.count()
        variables = [*self._program.variables]
        for function in self._program.functions.values():
            # What a function declares in these spaces lives as long as the module.
            variables += [v for v in function.variables if v.space in ("global", "const")]
        placed = [v for v in variables if v.space in ("global", "const")]
        self._numbers = {v.name: _FIRST_VARIABLE + i for i, v in enumerate(placed)}
        self.variables: tuple[Buffer, ...] = tuple(map(_memory, placed))
        for variable, buffer in zip(placed, self.variables, strict=True):
            self._fill(variable, buffer)

    @property
    def entries(self) -> list[str]:
        """Return the names of its kernels."""
        return [name for name, function in self._program.functions.items() if function.is_entry]

    def kernel(self, name: str, checks: Checks | None = None, *, counted: bool = False) -> Kernel:
        """Translate and compile a kernel.

        Raises:
            LaunchError: there is no such kernel.
            UnsupportedError: the kernel has something that cannot run on a CPU.
        """
        function = self._program.functions.get(name)
        if function is None or not function.is_entry:
            names = ", ".join(self.entries) or "none"
            raise LaunchError(f"the module has no kernel '{name}'; its kernels: {names}")
        whole = inlined(function, self._program.functions, BUILTIN)
        layout, shared = self._layout(whole)
        return Kernel(
            whole, layout, shared, self.variables, checks or Checks(), counted, self._objects, self._launches
        )

    def _layout(self, function: Function) -> tuple[Layout, int]:
        """Return where the variables of a function are, and the size of static shared memory."""
        params, _ = _offsets(function.params)
        of_module = [v for v in self._program.variables if v.space == "shared"]
        shared = [*of_module, *(v for v in function.variables if v.space == "shared")]
        offsets, size = _offsets([v for v in shared if v.size])
        size = aligned(size, max([v.align for v in shared if not v.size], default=1))
        offsets |= {v.name: size for v in shared if not v.size}  # dynamic: behind the static ones
        local = _largest([v for v in function.variables if v.space in ("local", "param")])
        at, local_size = _offsets(local)
        sizes = {v.name: v.size for v in local}
        unwritten = tuple(v.name for v in local if v.space == "local")
        return Layout(params, offsets, at, self._numbers, sizes, local_size, unwritten), size

    def _fill(self, variable: Variable, buffer: Buffer) -> None:
        """Write the initial values of a variable."""
        size = max(1, width(variable.item) // 8)
        content = b"".join(self._bytes(text, size) for text in variable.content)
        buffer.owner[: len(content)] = np.frombuffer(content, np.uint8)

    def _bytes(self, text: str, size: int) -> bytes:
        if (number := literal(text, 8 * size)) is not None:
            return number.to_bytes(size, "little")
        name, _, offset = text.removeprefix("generic(").replace(")", "").partition("+")
        if name in self._program.functions:
            return bytes(size)  # nobody reads it: a kernel that calls by address is refused
        if name not in self._numbers:
            raise UnsupportedError(
                f"a variable begins with {text}; expected numbers of {size} bytes, or addresses of variables"
            )
        number = self._numbers[name]
        # A pointer in memory has its buffer's number, too.
        address = number << ADDRESS_BITS | self.variables[number - _FIRST_VARIABLE].address
        return (address + int(offset or "0", 0)).to_bytes(size, "little")


def _memory(variable: Variable) -> Buffer:
    """Return zeros for a variable, aligned as it asks, and at least as a GPU's memory is."""
    align = max(_ALIGNMENT, variable.align)
    whole: Any = np.zeros(variable.size + align, np.uint8)
    start = -whole.ctypes.data % align
    memory = whole[start : start + variable.size]
    name = f"variable '{readable(variable.name)}'"
    is_constant = variable.space == "const"
    return Buffer(name, memory.ctypes.data, variable.size, is_read_only=is_constant, owner=memory)


def _offsets(variables: list[Variable]) -> tuple[dict[str, int], int]:
    """Return the places of consecutive variables, and their end."""
    places: dict[str, int] = {}
    at = 0
    for variable in variables:
        places[variable.name] = aligned(at, variable.align)
        at = places[variable.name] + variable.size
    return places, at


def _largest(variables: list[Variable]) -> list[Variable]:
    """Return one variable for each name: parameters of calls in a row have the same names."""
    largest: dict[str, Variable] = {}
    for variable in variables:
        if variable.name not in largest or largest[variable.name].size < variable.size:
            largest[variable.name] = variable
    return list(largest.values())
