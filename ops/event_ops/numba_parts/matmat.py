"""Products of a CSR matrix with the columns of a dense one: whole rows are read, so that loops vectorise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from event_ops.numba_parts.access import at, hoist
from event_ops.numba_parts.flags import REORDER

# A parallel launch pays for itself from this many terms; beginning a row takes as long as some terms.
MIN_TERMS_PARALLEL = 1 << 18
TERMS_TO_BEGIN = 8

# Terms of four entries are added up before a sum is stored: a store that the next load waits for is slow.
ONE, TWO, THREE, FOUR = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)


def is_large(entries: int, columns: int) -> bool:
    """Whether a product with `columns` columns is worth a parallel launch."""
    return entries * (columns + TERMS_TO_BEGIN) >= MIN_TERMS_PARALLEL


def gather_rows_with(term: Callable[..., Any]) -> Any:
    """The kernel `y[i] = sum of term(weight k, B[indices[k]]) over row i`, for a range of rows."""

    # One function, and rows as y[i, c] in place of views y[i]: composed of parts it is three times slower.
    @njit(fastmath=REORDER)
    def gather_rows(data: Any, indices: Any, indptr: Any, B: Any, y: Any, low: int, high: int) -> None:
        weights, nse = hoist(data), np.uintp(indices.size)
        size, n = np.uintp(B.shape[0]), np.uintp(y.shape[1])
        for i in range(np.uintp(low), np.uintp(high)):
            k, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + ONE]), nse)
            for c in range(n):
                y[i, c] = 0
            while k < end:
                j = np.uintp(indices[k])
                if k + THREE < end:
                    j1, j2 = np.uintp(indices[k + ONE]), np.uintp(indices[k + TWO])
                    j3 = np.uintp(indices[k + THREE])
                    if j < size and j1 < size and j2 < size and j3 < size:
                        w, w1 = at(weights, k), at(weights, k + ONE)
                        w2, w3 = at(weights, k + TWO), at(weights, k + THREE)
                        for c in range(n):
                            near = term(w, B[j, c]) + term(w1, B[j1, c])
                            y[i, c] += near + term(w2, B[j2, c]) + term(w3, B[j3, c])
                        k += FOUR
                        continue
                if j < size:
                    w = at(weights, k)
                    for c in range(n):
                        y[i, c] += term(w, B[j, c])
                k += ONE

    return gather_rows
