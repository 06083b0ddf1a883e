"""The interface of a package that compiles Python functions to CUDA kernels, with dtypes of NumPy."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Capability = tuple[int, int]


@dataclass(frozen=True)
class ArrayType:
    """An array as an argument of a kernel."""

    dtype: np.dtype[Any]
    ndim: int
    readonly: bool
    contiguous: bool = True  # its strides are those of C

    def __str__(self) -> str:
        kind = f"array({self.dtype}, {self.ndim}d, {'C' if self.contiguous else 'A'})"
        return f"readonly {kind}" if self.readonly else kind


ArgumentType = ArrayType | np.dtype[Any]


@dataclass(frozen=True)
class Compiled:
    """Machine code, the name of the kernel in it, and whether it needs a cooperative launch; maybe PTX.

    `stored`: arguments that it is known to store to, though their types are read-only.
    """

    code: bytes
    entry: str
    cooperative: bool
    ptx: bytes = b""
    stored: tuple[int, ...] = ()


class Compiler(ABC):
    """A package that compiles CUDA kernels, which are instances of its `dispatcher`."""

    version: str  # and the package's name, for fingerprints
    config: Any  # the module of its settings
    cuda: Any  # the module that kernels import
    dispatcher: type  # of its kernels and device functions
    errors: tuple[type[Exception], ...]  # of kernels that it cannot compile
    element: Any  # in kernels: element(x, i) is element i of x as a 0-d array

    @abstractmethod
    def compile(
        self, kernel: Any, arguments: Sequence[ArgumentType], capability: Capability, with_ptx: bool = False
    ) -> Compiled:
        """Compile for a GPU of this compute capability, which this machine need not have.

        `with_ptx`: to PTX, too, which names the lines of the source.
        """

    @abstractmethod
    def device_function(self, kernel: Any) -> Any:
        """Return the body of a kernel as a function that another kernel can call."""

    @abstractmethod
    def like(self, kernel: Any, function: Callable[..., None]) -> Any:
        """Return a kernel of another function, with the options of this one."""

    @abstractmethod
    def takes_constant(self, value: Any) -> bool:
        """Return whether a kernel can have `value`, which a user gives, as a constant."""

    @abstractmethod
    def array(self, shape: Sequence[int], strides: Sequence[int], itemsize: int) -> list[int | None]:
        """Return an array's parameters, eight bytes each, with None for its address; `strides` in bytes."""

    @abstractmethod
    def number(self, value: Any) -> list[bytes]:
        """Return the parameters of a number of NumPy."""


def numba_type(argument: ArgumentType, types: Any, from_dtype: Callable[[Any], Any]) -> Any:
    """Return a package's own type of an argument, by its module `types`."""
    if not isinstance(argument, ArrayType):
        return from_dtype(argument)
    layout = "C" if argument.contiguous else "A"
    return types.Array(from_dtype(argument.dtype), argument.ndim, layout, readonly=argument.readonly)
