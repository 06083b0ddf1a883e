"""Cut the rows of a CSR matrix into contiguous blocks of one shape, with NumPy on the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from event_ops.checks.arrays import counter, is_known
from event_ops.checks.csr import MEND, check_indptr
from event_ops.checks.keywords import known_integer
from event_ops.kernels.reference.packed_entries import in_rows, words_of


@dataclass(frozen=True)
class Stored:
    """The arrays of a matrix as they are stored, and whether it is read transposed.

    `data` is (nse,) or 0-d, `indptr` spans all of `indices`, `shape` is that of the matrix as it is read.
    """

    data: Any
    indices: Any
    indptr: Any
    shape: tuple[int, int]
    transposed: bool

    def ends(self) -> Any:
        """Return (rows + 1,), int64: ends[i] is the number of entries before row i."""
        if not self.transposed:
            return self.indptr.astype(np.int64)
        rows = self.shape[0]
        # Padding and free slots are in no row.
        inside = self.indices[(self.indices >= 0) & (self.indices < rows)]
        return np.concatenate([[0], np.cumsum(np.bincount(inside, minlength=rows))])

    def rows(self, low: int, high: int) -> Stored:
        """Return the rows from `low` up to `high`, stored in the same orientation."""
        columns = self.shape[1]
        if not self.transposed:
            first, last = self.indptr[low], self.indptr[high]
            held = slice(int(first), int(last))
            indices, indptr = self.indices[held], self.indptr[low : high + 1] - first
        else:
            held = (self.indices >= low) & (self.indices < high)
            before = np.concatenate([[0], np.cumsum(held)]).astype(self.indptr.dtype)
            indices, indptr = self.indices[held] - low, before[self.indptr]
        data = self.data[held] if self.data.ndim else self.data
        return Stored(
            data, indices.astype(self.indices.dtype), indptr, (high - low, columns), self.transposed
        )

    def padded(self, rows: int, nse: int, fill: int = 0) -> Stored:
        """Pad to `rows` and `nse`; new entries lie behind indptr[-1], out of range, with data `fill`."""
        columns = self.shape[1]
        outside = np.asarray(rows if self.transposed else columns).astype(self.indices.dtype)
        data = padded(self.data, nse, fill) if self.data.ndim else self.data
        indices, indptr = padded(self.indices, nse, outside), self.indptr
        if not self.transposed:
            indptr = padded(indptr, rows + 1, indptr[-1])
        return Stored(data, indices, indptr, (rows, columns), self.transposed)

    def words(self, columns: int) -> Any:
        """Return the entries as words, of which the data are the codes."""
        return words_of(self.indices, self.data, columns)


def stored(A: Any) -> Stored:
    """Return the arrays of a `CSR`, or of a SciPy CSR matrix, whose arrays may be memory-mapped files.

    Raise ValueError for a matrix that is being traced, or whose indptr does not rise within its entries.
    """
    _check_known(A.data, A.indices, A.indptr)
    return _spanned(A, np.asarray(A.data), np.asarray(A.indices), np.asarray(A.indptr))


def numbers_of(A: Any) -> Any:
    """Return the place in A of each entry that `stored` returns."""
    low, high = int(A.indptr[0]), int(A.indptr[-1])
    return np.arange(low, high, dtype=counter(A.indices.shape[0]))


def stored_codes(A: Any) -> Stored:
    """Return the arrays of a `CompactCSR`, with codes as the data; raise as `stored` does."""
    _check_known(A.entries, A.indptr, A.scale)
    codes, columns, indptr = map(np.asarray, in_rows(A.entries, A.indptr, A.stored_shape))
    return _spanned(A, codes, columns.astype(np.int32), indptr)


def _check_known(*arrays: Any) -> None:
    if not is_known(*arrays):
        raise ValueError(
            "A is being traced, or split over processes; expected known arrays, by which it is cut: "
            "call shard_csr outside of jit and hand its result to the function"
        )


def _spanned(A: Any, data: Any, indices: Any, indptr: Any) -> Stored:
    """Return the entries that indptr spans."""
    check_indptr(indptr, indices.size, MEND, whole=False)
    spanned = slice(int(indptr[0]), int(indptr[-1]))
    rows, columns = A.shape
    return Stored(
        data[spanned] if data.ndim else data,
        indices[spanned],
        indptr - indptr[0],
        (int(rows), int(columns)),
        bool(getattr(A, "transposed", False)),
    )


def balanced_starts(ends: Any, shards: int) -> tuple[int, ...]:
    """Return the first row of each block, and the number of rows.

    Block k begins at the first row with at least k / shards of all entries before it, so that it has fewer
    entries than nse / shards + the longest row.
    """
    total = int(ends[-1])
    targets = [-(-total * k // shards) for k in range(shards)]
    return (*np.searchsorted(ends, targets).tolist(), len(ends) - 1)


def check_starts(starts: Sequence[int], rows: int, shards: int) -> tuple[int, ...]:
    """Return `starts` as Python integers; raise ValueError unless they cut the rows into `shards` blocks."""
    cuts = tuple(known_integer("an element of starts", start) for start in starts)
    if len(cuts) != shards + 1 or (cuts[0], cuts[-1]) != (0, rows) or list(cuts) != sorted(cuts):
        raise ValueError(
            f"starts is {cuts}; expected {shards + 1} rows that rise from 0 to {rows}: "
            f"shard k of {shards} has the rows from starts[k] up to starts[k + 1]"
        )
    return cuts


def padded(x: Any, size: int, fill: Any) -> Any:
    """Return a vector made longer."""
    return np.pad(x, (0, size - x.size), constant_values=fill)
