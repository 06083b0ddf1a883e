"""What a kernel to differentiate is: a plain one of Numba, with inputs, and a twin in JAX."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np


@dataclass(frozen=True)
class Differentiable:
    """A kernel `kernel(*ins, *outs)`, differentiable in its inputs of float64, and a twin of the same values.

    Args:
        kernel: a function of `@numba.njit`.
        inputs: makes the inputs of a call, by a generator and a size: arrays and numbers.
        outs: of the inputs' shapes, as `numba_kernel` takes it.
        twin: a function of the inputs in JAX, which JAX can differentiate.
        scalars: the names of inputs that are numbers.
        size: that of a test.
        large: that of a benchmark.
    """

    kernel: Any
    inputs: Callable[[np.random.Generator, int], tuple[Any, ...]]
    outs: Callable[..., Any]
    twin: Callable[..., Any]
    scalars: tuple[str, ...] = ()
    size: int = 8
    large: int = 1000

    def __str__(self) -> str:
        return self.kernel.__name__


def struct(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, "float64")
