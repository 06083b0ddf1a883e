"""Inputs of a case, drawn from a generator: `@drawn` makes a `Case.make` of a function of a `Draw`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, NamedTuple, ParamSpec

import numpy as np

from event_ops.cases import Arguments
from event_ops.cases.matrices import (
    fixed_degree_csr,
    narrow_words,
    numbers,
    random_csr,
    random_ell,
    random_events,
    random_words,
    spread,
)

P = ParamSpec("P")
Make = Callable[[np.random.Generator, str, str], Arguments]  # that of a Case
Shape = tuple[int, int]


class Draw(NamedTuple):
    """The arguments of `Case.make`, and what to draw with them; see `event_ops.cases.matrices`."""

    rng: np.random.Generator
    dtype: str
    index_dtype: str

    def csr(self, shape: Shape, nse: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return data, indices, indptr of a random CSR matrix."""
        return random_csr(self.rng, shape, nse, self.dtype, self.index_dtype)

    def fixed_degree_csr(self, shape: Shape, per_row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return data, indices, indptr of a CSR matrix with as many entries in every row."""
        return fixed_degree_csr(self.rng, shape, per_row, self.dtype, self.index_dtype)

    def words(self, shape: Shape, nse: int, columns: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return words and indptr of a random CSR matrix, or of a part of one with `columns` columns."""
        return random_words(self.rng, shape, nse, self.index_dtype, shape[1] if columns is None else columns)

    def narrow_words(self, shape: Shape, nse: int, parts: int) -> tuple[np.ndarray, np.ndarray]:
        """Return words of 16 bits and indptr of a random CSR matrix in parts."""
        return narrow_words(self.csr, shape, nse, parts)

    def fixed_degree_narrow_words(
        self, shape: Shape, per_row: int, parts: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return words of 16 bits and indptr of a matrix with as many entries in every row."""
        return narrow_words(self.fixed_degree_csr, shape, per_row, parts)

    def ell(self, shape: Shape, per_row: int, padding: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return data, indices of a random ELLPACK matrix."""
        return random_ell(self.rng, shape, per_row, self.dtype, self.index_dtype, padding)

    def numbers(self, size: Any) -> np.ndarray:
        """Return random numbers."""
        return numbers(self.rng, size, self.dtype)

    def events(self, size: int, rate: float, kind: str = "bool") -> np.ndarray:
        """Return random events: "bool", "float" for numbers of the dtype, or counts of an integer dtype."""
        return random_events(self.rng, size, rate, self.dtype if kind == "float" else kind)

    def spread(self, parameters: Mapping[str, float], shape: tuple[int, ...], by: float) -> dict[str, Any]:
        """Return parameters that differ between neurons."""
        return spread(self.rng, parameters, shape, by, self.dtype)


def drawn(
    inputs: Callable[Concatenate[Draw, P], Arguments],
) -> Callable[P, Make]:
    """Turn `inputs(draw, *options)` into a function of the options that returns a `Case.make`."""

    @functools.wraps(inputs)
    def with_options(*args: P.args, **kwargs: P.kwargs) -> Callable[..., Arguments]:
        return lambda *draw: inputs(Draw(*draw), *args, **kwargs)

    return with_options
