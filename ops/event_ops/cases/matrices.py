"""Matrices for cases as NumPy arrays: words of entries, numbers, indices that are led astray."""

from typing import Any

import numpy as np

# Matrices of 2 rows and 4 columns, for calls that are right but for one argument.
STRUCTURE_2_4: dict[str, Any] = {"indices": np.zeros(3, np.int32), "indptr": np.array([0, 1, 3], np.int32)}
MATRIX_2_4: dict[str, Any] = {"data": np.ones(3, np.float32)} | STRUCTURE_2_4
ELL_2_4: dict[str, Any] = {"data": np.ones((2, 3), np.float32), "indices": np.zeros((2, 3), np.int32)}

WORDS_2_4: dict[str, Any] = {"entries": np.zeros(3, np.uint32), "indptr": np.array([0, 1, 3], np.int32)}


def packed(codes: np.ndarray, indices: np.ndarray, columns: int) -> np.ndarray:
    """Return words of these codes and indices, of which the low bits count."""
    bits = max(columns - 1, 0).bit_length()
    return ((codes.astype(np.int64) << bits) | (indices.astype(np.int64) & ((1 << bits) - 1))).astype(
        np.uint32
    )


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


def numbers(rng: np.random.Generator, size: Any, dtype: str) -> np.ndarray:
    """Return random numbers of about size 1, of either sign, complex where the dtype is; small integers."""
    kind = np.dtype(dtype)
    if kind.kind == "u":
        return rng.integers(0, 9, size).astype(kind)
    if kind.kind == "i":
        return rng.integers(-9, 10, size).astype(kind)
    real = rng.standard_normal(size)
    return (real + 1j * rng.standard_normal(size) if kind.kind == "c" else real).astype(kind)
