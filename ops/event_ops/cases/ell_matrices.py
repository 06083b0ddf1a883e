"""Random ELLPACK matrices, as NumPy arrays, for cases."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.cases.matrices import numbers

# A matrix of 2 rows and 4 columns, for calls that are right but for one argument.
ELL_2_4: dict[str, Any] = {"data": np.ones((2, 3), np.float32), "indices": np.zeros((2, 3), np.int32)}


def random_ell(
    rng: np.random.Generator,
    shape: tuple[int, int],
    per_row: int,
    dtype: str,
    index_dtype: str,
    padding: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """data, indices with `per_row` entries in every row: unsorted, with duplicates; a share of them padding.

    Padding has the indices one below (where they are signed) and one above the range, and the largest of all.
    """
    rows, columns = shape
    indices = rng.integers(0, max(columns, 1), (rows, per_row)).astype(index_dtype)
    largest = np.iinfo(index_dtype).max
    outside = [columns, largest, -1 if np.dtype(index_dtype).kind == "i" else largest]
    padded = rng.random(indices.shape) < padding
    indices[padded] = rng.choice(np.array(outside, index_dtype), padded.sum())
    return numbers(rng, indices.shape, dtype), indices
