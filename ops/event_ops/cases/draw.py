"""Inputs of a case, drawn from a generator: `@drawn` makes a `Case.make` of a function of a `Draw`."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, NamedTuple, ParamSpec

import jax.numpy as jnp
import numpy as np

from event_ops.cases import Arguments
from event_ops.cases.matrices import numbers, packed

P = ParamSpec("P")
Make = Callable[[np.random.Generator, str, str], Arguments]  # that of a Case
Shape = tuple[int, int]


class Draw(NamedTuple):
    """The arguments of `Case.make`, with methods that draw arrays; see `event_ops.cases.matrices`."""

    rng: np.random.Generator
    dtype: str
    index_dtype: str

    def csr(self, shape: Shape, nse: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return data, indices, indptr with `nse` entries in random places, unsorted, with duplicates."""
        rows, columns = shape
        counts = self.rng.multinomial(nse, np.full(rows, 1 / rows)) if rows else np.zeros(0, int)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(self.index_dtype)
        indices = self.rng.integers(0, max(columns, 1), nse).astype(self.index_dtype)
        return self.numbers(nse), indices, indptr

    def fixed_degree_csr(self, shape: Shape, per_row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return data, indices, indptr with `per_row` entries in every row, at sorted random columns."""
        rows, columns = shape
        indices = np.sort(self.rng.integers(0, columns, (rows, per_row), dtype=self.index_dtype), axis=1)
        indptr = np.arange(0, rows * per_row + 1, per_row, dtype=self.index_dtype)
        return self.numbers(rows * per_row), indices.reshape(-1), indptr

    def words(self, shape: Shape, nse: int, columns: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return words and indptr with `nse` entries in random places, of codes from -99 to 99 without 0.

        Each word holds a column in its low bits, as many as `columns` take, unsorted, with duplicates, and
        above it the code; by default of all columns, else of a part of a matrix with so many.
        """
        codes, indices, indptr = self._replace(dtype="int32").csr(shape, nse)
        codes = self.rng.integers(1, 100, nse) * np.where(codes < 0, -1, 1)
        return packed(codes, indices, shape[1] if columns is None else columns), indptr

    def narrow_words(
        self, shape: Shape, entries: int, parts: int, *, per_row: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return words of 16 bits and indptr of a random matrix in equal parts of the columns.

        It has so many entries in all, or in every row if `per_row`.
        """
        draw, width = self.fixed_degree_csr if per_row else self.csr, -(-shape[1] // parts)
        drawn = [draw((shape[0], width), entries // parts) for _ in range(parts)]
        ends = np.stack([indptr + part * indices.size for part, (_, indices, indptr) in enumerate(drawn)])
        words = np.concatenate([indices for _, indices, _ in drawn]).astype(np.uint16)
        return words, (ends if parts > 1 else ends[0]).astype(drawn[0][2].dtype)

    def ell(self, shape: Shape, per_row: int, padding: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return data, indices with `per_row` entries in a row, unsorted, with duplicates; some are padding.

        Padding has the indices one below (where they are signed) and one above the range, and the largest.
        """
        rows, columns = shape
        indices = self.rng.integers(0, max(columns, 1), (rows, per_row)).astype(self.index_dtype)
        largest = np.iinfo(self.index_dtype).max
        outside = [columns, largest, -1 if np.dtype(self.index_dtype).kind == "i" else largest]
        padded = self.rng.random(indices.shape) < padding
        indices[padded] = self.rng.choice(np.array(outside, self.index_dtype), padded.sum())
        return self.numbers(indices.shape), indices

    def numbers(self, size: Any) -> np.ndarray:
        """Return random numbers, as `event_ops.cases.matrices.numbers` does."""
        return numbers(self.rng, size, self.dtype)

    def events(self, size: int, rate: float, kind: str = "bool") -> np.ndarray:
        """Return events that are active with probability `rate`, and 0 elsewhere.

        kind: "bool", "float" for numbers of the dtype, or an integer dtype for counts.
        """
        dtype = self.dtype if kind == "float" else kind
        active = self.rng.random(size) < rate
        return (
            active if dtype == "bool" else np.where(active, numbers(self.rng, size, dtype), 0).astype(dtype)
        )

    def spread(self, parameters: Mapping[str, float], shape: tuple[int, ...], by: float) -> dict[str, Any]:
        """Return parameters drawn for each neuron, up to the fraction `by` larger or smaller."""
        factors = self.rng.uniform(1 - by, 1 + by, (len(parameters), *shape))
        values = zip(parameters.items(), factors, strict=True)
        return {name: (value * factor).astype(self.dtype) for (name, value), factor in values}


def drawn(inputs: Callable[Concatenate[Draw, P], Arguments]) -> Callable[P, Make]:
    """Turn `inputs(draw, *options)` into a function of the options that returns a `Case.make`."""

    @functools.wraps(inputs)
    def with_options(*args: P.args, **kwargs: P.kwargs) -> Callable[..., Arguments]:
        return lambda *draw: inputs(Draw(*draw), *args, **kwargs)

    return with_options


@drawn
def with_spike_ids(draw: Draw, make: Make) -> Arguments:
    """Return a product with spike ids in any order, some twice, between padding and ids out of range."""
    args, kwargs = make(*draw)
    size, limits = kwargs["shape"][0 if kwargs["transpose"] else 1], np.iinfo(np.int32)
    ids = np.array([3, size, 0, 7, 3, -1, limits.max, limits.min, size, 1], np.int32)
    return (*args[:3], np.tile(ids, 13)[:70]), kwargs | {"encoding": "ids"}


@drawn
def with_bits(draw: Draw, make: Make) -> Arguments:
    """Return a product with random bits as events, also behind the last one."""
    args, kwargs = make(*draw)
    words = -(-kwargs["shape"][0 if kwargs["transpose"] else 1] // 32)
    bits = draw.rng.integers(0, 1 << 32, words).astype(np.uint32)
    return (*args[:3], bits), kwargs | {"encoding": "bits"}


@drawn
def stored_as(draw: Draw, half: str, position: int, make: Make) -> Arguments:
    """Return the arguments of `make`, the weights at `position` in float16 or bfloat16.

    Only with inputs of float32, beside which an operator takes such weights.
    """
    args, kwargs = make(*draw)
    if draw.dtype != "float32":
        return args, kwargs
    weights = args[position].astype(jnp.dtype(half))
    return (*args[:position], weights, *args[position + 1 :]), kwargs
