"""Make the matrix that workers multiply: a function of its sizes alone, without temporary copies."""

import numpy as np


def square_csr(rows: int, per_row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return data (float32), indices and indptr (int32): random numbers in sorted random columns."""
    return vector(rows * per_row), *structure(rows, per_row)


def structure(rows: int, per_row: int) -> tuple[np.ndarray, np.ndarray]:
    """Return its indices and indptr."""
    rng = np.random.default_rng(0)
    indices = rng.integers(0, rows, (rows, per_row), dtype=np.int32)
    indices.sort(axis=1)
    indptr = np.arange(0, rows * per_row + 1, per_row, dtype=np.int32)
    return indices.reshape(-1), indptr


def vector(size: int) -> np.ndarray:
    """Return random numbers, float32."""
    return np.random.default_rng(1).standard_normal(size, dtype=np.float32)


def flags(size: int, rate: float = 0.01) -> np.ndarray:
    """Return events, bool: exactly `rate` of them active, at least one."""
    active = np.arange(size) < max(1, int(rate * size))
    return np.random.default_rng(2).permutation(active)


def norm(y: object) -> float:
    """Return the length of a vector, to compare results by."""
    return float(np.linalg.norm(np.asarray(y, np.float64)))
