"""Draw CSR and ELLPACK matrices, events and parameters for cases, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

# Matrices of 2 rows and 4 columns, for calls that are right but for one argument.
STRUCTURE_2_4: dict[str, Any] = {"indices": np.zeros(3, np.int32), "indptr": np.array([0, 1, 3], np.int32)}
MATRIX_2_4: dict[str, Any] = {"data": np.ones(3, np.float32)} | STRUCTURE_2_4
ELL_2_4: dict[str, Any] = {"data": np.ones((2, 3), np.float32), "indices": np.zeros((2, 3), np.int32)}

WORDS_2_4: dict[str, Any] = {"entries": np.zeros(3, np.uint32), "indptr": np.array([0, 1, 3], np.int32)}


def random_csr(
    rng: np.random.Generator, shape: tuple[int, int], nse: int, dtype: str, index_dtype: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return data, indices, indptr with `nse` entries in random places, unsorted, with duplicates."""
    rows, columns = shape
    counts = rng.multinomial(nse, np.full(rows, 1 / rows)) if rows else np.zeros(0, int)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(index_dtype)
    indices = rng.integers(0, max(columns, 1), nse).astype(index_dtype)
    return numbers(rng, nse, dtype), indices, indptr


def random_words(
    rng: np.random.Generator, shape: tuple[int, int], nse: int, index_dtype: str, columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return words and indptr with `nse` entries in random places, of codes from -99 to 99 without 0.

    Each word holds a column in its low bits, as many as `columns` take, unsorted, with duplicates, and above
    it the code.
    """
    codes, indices, indptr = random_csr(rng, shape, nse, "int32", index_dtype)
    codes = rng.integers(1, 100, nse) * np.where(codes < 0, -1, 1)
    return packed(codes, indices, columns), indptr


def packed(codes: np.ndarray, indices: np.ndarray, columns: int) -> np.ndarray:
    """Return words of these codes and indices, of which the low bits count."""
    bits = max(columns - 1, 0).bit_length()
    return ((codes.astype(np.int64) << bits) | (indices.astype(np.int64) & ((1 << bits) - 1))).astype(
        np.uint32
    )


def narrow_words(
    draw: Callable[..., tuple[np.ndarray, ...]], shape: tuple[int, int], entries: int, parts: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return words of 16 bits and indptr, of equal parts of the columns.

    Each is `draw(shape, entries)` of its share of the entries.
    """
    width = -(-shape[1] // parts)
    drawn = [draw((shape[0], width), entries // parts) for _ in range(parts)]
    ends = np.stack([indptr + part * indices.size for part, (_, indices, indptr) in enumerate(drawn)])
    words = np.concatenate([indices for _, indices, _ in drawn]).astype(np.uint16)
    return words, (ends if parts > 1 else ends[0]).astype(drawn[0][2].dtype)


def unpacked(words: np.ndarray, indptr: np.ndarray, columns: int) -> tuple[np.ndarray, ...]:
    """Return the codes, as int32, the indices and the indptr that words hold, of all parts together."""
    if words.itemsize == 4:
        bits = max(columns - 1, 0).bit_length()
        return words.view(np.int32) >> bits, (words & np.uint32((1 << bits) - 1)).astype(np.int32), indptr
    ends = indptr.reshape(-1, indptr.shape[-1])
    lengths, width = np.diff(ends), -(-columns // len(ends))
    rows = np.tile(np.arange(lengths.shape[1]), len(ends)).repeat(lengths.reshape(-1))
    order = np.argsort(rows, kind="stable")
    first = np.repeat(width * np.arange(len(ends)), lengths.sum(axis=1))
    indices = (words[ends[0, 0] : ends[-1, -1]] + first).astype(np.int32)[order]
    return np.ones_like(indices), indices, np.append(0, np.cumsum(lengths.sum(axis=0))).astype(indptr.dtype)


def lead_astray(indices: np.ndarray, size: int) -> None:
    """Set some of the indices out of range: to `size`, to the largest there is, and to -1 if signed."""
    indices[::5], indices[1::7] = size, np.iinfo(indices.dtype).max
    if indices.dtype.kind == "i":
        indices[2::9] = -1


def fixed_degree_csr(
    rng: np.random.Generator, shape: tuple[int, int], per_row: int, dtype: str, index_dtype: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return data, indices, indptr with `per_row` entries in every row, at sorted random columns."""
    rows, columns = shape
    indices = np.sort(rng.integers(0, columns, (rows, per_row), dtype=index_dtype), axis=1)
    indptr = np.arange(0, rows * per_row + 1, per_row, dtype=index_dtype)
    return numbers(rng, rows * per_row, dtype), indices.reshape(-1), indptr


def random_ell(
    rng: np.random.Generator,
    shape: tuple[int, int],
    per_row: int,
    dtype: str,
    index_dtype: str,
    padding: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return data, indices with `per_row` entries in a row, unsorted, with duplicates; some are padding.

    Padding has the indices one below (where they are signed) and one above the range, and the largest of all.
    """
    rows, columns = shape
    indices = rng.integers(0, max(columns, 1), (rows, per_row)).astype(index_dtype)
    largest = np.iinfo(index_dtype).max
    outside = [columns, largest, -1 if np.dtype(index_dtype).kind == "i" else largest]
    padded = rng.random(indices.shape) < padding
    indices[padded] = rng.choice(np.array(outside, index_dtype), padded.sum())
    return numbers(rng, indices.shape, dtype), indices


def numbers(rng: np.random.Generator, size: Any, dtype: str) -> np.ndarray:
    """Return random numbers of about size 1, of either sign, complex where the dtype is; small integers."""
    kind = np.dtype(dtype)
    if kind.kind == "u":
        return rng.integers(0, 9, size).astype(kind)
    if kind.kind == "i":
        return rng.integers(-9, 10, size).astype(kind)
    real = rng.standard_normal(size)
    return (real + 1j * rng.standard_normal(size) if kind.kind == "c" else real).astype(kind)


def random_events(rng: np.random.Generator, size: int, rate: float, dtype: str) -> np.ndarray:
    """Return events that are active with probability `rate`: bool, or random values and zeros."""
    active = rng.random(size) < rate
    return active if dtype == "bool" else np.where(active, numbers(rng, size, dtype), 0).astype(dtype)


def spread(
    rng: np.random.Generator, parameters: Mapping[str, float], shape: tuple[int, ...], by: float, dtype: str
) -> dict[str, np.ndarray]:
    """Return parameters for each neuron, up to the fraction `by` larger or smaller."""
    factors = rng.uniform(1 - by, 1 + by, (len(parameters), *shape))
    values = zip(parameters.items(), factors, strict=True)
    return {name: (value * factor).astype(dtype) for (name, value), factor in values}
