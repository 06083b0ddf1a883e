"""Memory that kernels may use, and pointers to it that carry the number of their buffer.

A pointer's upper 16 bits hold the number, its lower 48 bits the address of the host: machine code checks an
access against the buffer that the pointer was made for, even where another one lies beside it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ptx_on_cpu.records import BUFFER

ADDRESS_BITS: Final = 48  # as many as processors give memory; the 16 above are the number of a buffer
ADDRESS_MASK: Final = (1 << ADDRESS_BITS) - 1
# Generic addresses of shared and of local memory begin with these numbers.
SHARED_WINDOW: Final = 0xFFFF
LOCAL_WINDOW: Final = 0xFFFE
PARAMETERS: Final = 1  # the number of the buffer of a launch's parameters
# Numbers above are kept for the windows.
MAX_BUFFERS: Final = 0xFFF0
NUMBERINGS: Final = 8  # launches in a row in which the numbers of buffers differ


@dataclass(frozen=True)
class Buffer:
    """`size` bytes of the host's memory from `address` on.

    `is_written`: whether they hold values at first; `owner` keeps the memory alive.
    """

    name: str
    address: int
    size: int
    is_read_only: bool = False
    is_written: bool = True
    owner: Any = field(default=None, compare=False, repr=False)


# A pointer that a kernel has kept leads here, since the buffers of the next launch have other numbers.
GONE: Final = Buffer("memory of an earlier launch", 0, 0)


class Buffers:
    """The buffers of a launch; number 0 is none, for pointers without a number.

    `written`: address -> which bytes were written since, of buffers that held no values. Launches that are
    given the same one go on where those before them ended.
    """

    def __init__(self) -> None:
        self._buffers: list[Buffer] = [Buffer("no buffer", 0, 0)]
        self.written: dict[int, np.ndarray[Any, Any]] = {}

    def add(self, buffer: Buffer) -> int:
        """Add a buffer, and return the pointer to its first byte."""
        number = len(self._buffers)
        if number >= MAX_BUFFERS:
            raise ValueError(f"more than {MAX_BUFFERS} buffers")
        self._buffers.append(buffer)
        return number << ADDRESS_BITS | buffer.address

    def put_parameters(self, packed: np.ndarray[Any, Any]) -> int:
        """Put the parameters of a launch into buffer 1, and return the pointer to them."""
        name = self._buffers[PARAMETERS].name
        self._buffers[PARAMETERS] = Buffer(
            name, packed.ctypes.data, packed.size, is_read_only=True, owner=packed
        )
        return PARAMETERS << ADDRESS_BITS | packed.ctypes.data

    @property
    def addressable(self) -> list[Buffer]:
        """Return the buffers of the module and of the launch."""
        return self._buffers[PARAMETERS + 1 :]

    def named(self, pointer: int) -> Buffer | None:
        """Return the buffer that a pointer was made for; without a number, the one that it lies in."""
        number, address = pointer >> ADDRESS_BITS, pointer & ADDRESS_MASK
        if 0 < number < len(self._buffers):
            return self._buffers[number]
        if len(self._buffers) <= number < len(self._buffers) + NUMBERINGS:
            return GONE  # of a launch whose numbers began later
        inside = (b for b in self._buffers[1:] if b.address <= address < b.address + b.size)
        return next(inside, None)

    def table(self, initialised: bool, races: Callable[[int, int], int] | None) -> np.ndarray[Any, Any]:
        """Return the table for machine code.

        `initialised`: with a shadow of what was not written yet; `races`: gives the address of the shadow for
        races, by the address and the size of memory. Buffers that begin at one address share their shadows.
        """
        table = np.zeros(len(self._buffers), BUFFER)
        sizes: dict[int, int] = {}
        for buffer in self._buffers:
            # Views of one array may begin together, and differ in size.
            sizes[buffer.address] = max(buffer.size, sizes.get(buffer.address, 0))
        for row, buffer in zip(table, self._buffers, strict=True):
            size = sizes[buffer.address]
            row["first"], row["end"] = buffer.address, buffer.address + buffer.size
            row["read_only"] = buffer.is_read_only
            if initialised and not buffer.is_written:
                shadow = self.written.setdefault(buffer.address, np.zeros(size, np.uint8))
                row["shadow"] = shadow.ctypes.data
            if races is not None:
                row["races"] = races(buffer.address, size)
            if not row["shadow"] and not buffer.is_read_only:
                # Without a shadow and a ban to write, bounds are all that an access is checked for.
                row["plain_size"] = buffer.size
        return table
