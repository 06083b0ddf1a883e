"""Machine code of a kernel, and the arguments that a launch passes to it."""

from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True)
class Cubin:
    """Machine code for a GPU, the name of its kernel, and the Python kernel and types that it is from.

    `ptx`: its PTX, for drivers that read it. `synchronises_grid`: it needs a cooperative launch.
    """

    code: bytes
    entry: str
    # For messages, and for a driver that compiles anew; the code alone says what runs.
    kernel: Any = field(compare=False)
    arguments: tuple[Any, ...] = field(compare=False)
    ptx: bytes = b""
    synchronises_grid: bool = False


@dataclass(frozen=True)
class PassedBuffer:
    """A buffer as a launch gets it, of the size that one launch may use; `is_written`: it holds values."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    size: int
    is_read_only: bool
    is_written: bool


@dataclass(frozen=True)
class PassedPointer:
    """A pointer among the parameters of a launch: which of them, and where in it.

    It leads `displacement` bytes behind the first byte of `buffers[buffer]` of the launch.
    """

    parameter: int
    offset: int
    displacement: int
    buffer: int


@dataclass(frozen=True)
class Passed:
    """The bytes of each parameter of a launch, its buffers, and the pointers to them.

    `is_first`: no launch before it has written to these buffers in the same call.
    """

    sizes: tuple[int, ...] = ()
    buffers: tuple[PassedBuffer, ...] = ()
    pointers: tuple[PassedPointer, ...] = ()
    is_first: bool = True


NOTHING_PASSED: Final = Passed()
