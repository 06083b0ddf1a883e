"""A case: a kernel as other people write them, a launch, and what NumPy says that it must give."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptx_on_cpu import Kernel


@dataclass(frozen=True)
class Case:
    """A launch of `kernel`; `wanted`: what arguments must be afterwards, by position.

    `kernel`: a function of Python, for numba-cuda; else the name of a kernel of CUDA C++ or Warp. Floats
    agree within `tolerance`, relative to the largest.
    """

    kernel: Any
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Any, ...]
    wanted: Mapping[int, Any]
    shared: int = 0
    tolerance: float = 0

    def check(self, kernel: Kernel, parameters: Any, **how: Any) -> str:
        """Launch with copies of the arguments, compare, and return what was printed."""
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in self.arguments]
        launched = kernel.launch(self.grid, self.block, list(parameters(copies)), shared=self.shared, **how)
        for i, wanted in self.wanted.items():
            given, expected = copies[i], np.asarray(wanted, copies[i].dtype)
            if self.tolerance:
                scale = self.tolerance * np.abs(expected[np.isfinite(expected)]).max()
                np.testing.assert_allclose(given, expected, rtol=self.tolerance, atol=scale)
            else:
                np.testing.assert_array_equal(given, expected)
        return launched.printed


class Numbers:
    """Random numbers, the same for each test, whichever others run."""

    rng = np.random.default_rng(0)

    @classmethod
    def begin_anew(cls) -> None:
        cls.rng = np.random.default_rng(0)


def integers(low: int, high: int, *shape: int, dtype: Any = np.int32) -> np.ndarray:
    """Return random integers."""
    return Numbers.rng.integers(low, high, shape, dtype=dtype)


def normal(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Return random floats."""
    return Numbers.rng.standard_normal(shape).astype(dtype)


def zeros(*shape: int, dtype: Any = np.int32) -> np.ndarray:
    """Return zeros."""
    return np.zeros(shape, dtype)
