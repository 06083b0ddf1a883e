"""The interface of a package that compiles Python functions to CUDA kernels, with dtypes of NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

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
    """Machine code, the name of the kernel in it, and whether it needs a cooperative launch."""

    code: bytes
    entry: str
    cooperative: bool


class Compiler(Protocol):
    """A package that compiles CUDA kernels, which are instances of its `dispatcher`."""

    version: str  # and the package's name, for fingerprints
    config: Any  # the module of its settings
    cuda: Any  # the module that kernels import
    dispatcher: type  # of its kernels and device functions
    errors: tuple[type[Exception], ...]  # of kernels that it cannot compile
    element: Any  # in kernels: element(x, i) is element i of x as a 0-d array

    def compile(self, kernel: Any, arguments: Sequence[ArgumentType], capability: Capability) -> Compiled:
        """Compile for a GPU of this compute capability, which this machine need not have."""
        ...

    def device_function(self, kernel: Any) -> Any:
        """Return the body of a kernel as a function that another kernel can call."""
        ...

    def like(self, kernel: Any, function: Callable[..., None]) -> Any:
        """Return a kernel of another function, with the options of this one."""
        ...

    def array_head(self, size: int, itemsize: int) -> tuple[int | None, ...]:
        """Return an array's parameters in front of shape and strides, with None for its address."""
        ...

    def stride_unit(self, itemsize: int) -> int:
        """Return how many bytes one step of a stride among the parameters is."""
        ...


def array_words(
    compiler: Compiler, shape: Sequence[int], strides: Sequence[int], itemsize: int
) -> list[int | None]:
    """Return the parameters that describe an array, eight bytes each; `strides` in bytes."""
    unit, size = compiler.stride_unit(itemsize), math.prod(shape)
    return [*compiler.array_head(size, itemsize), *shape, *(stride // unit for stride in strides)]


def num_words(compiler: Compiler, ndim: int) -> int:
    """Return the number of parameters that an array has."""
    return len(compiler.array_head(0, 1)) + 2 * ndim


def described_array(
    compiler: Compiler, words: Sequence[int], ndim: int, itemsize: int
) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Return address, shape and strides of an array by its parameters; raise ValueError for others."""
    head, unit = len(words) - 2 * ndim, compiler.stride_unit(itemsize)
    shape = tuple(words[head : head + ndim])
    strides = tuple(unit * stride for stride in words[head + ndim :])
    pairs = list(zip(words, array_words(compiler, shape, strides, itemsize), strict=True))
    addresses = {given for given, expected in pairs if expected is None}
    if len(addresses) != 1 or any(expected not in (None, given) for given, expected in pairs):
        raise ValueError(f"parameters {list(words)} do not describe an array of shape {shape}")
    return addresses.pop(), shape, strides
