"""Words in parts of the columns: of as many columns each, which 16 bits can hold, or of as many words."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.checks.csr import MEND, check_in_range, check_indptr
from event_ops.checks.packed_entries import MOST_NARROW, are_narrow, equal_starts
from event_ops.kernels.reference.packed_entries import in_rows, words_of
from event_ops.sparse.partition import balanced_starts


def narrow_parts(columns: int) -> int:
    """Return in how many parts columns are that narrow words can hold."""
    return max(1, -(-columns // MOST_NARROW))


def saves(nse: int, rows: int, columns: int, indptr: Any, scale: Any) -> bool:
    """Return whether narrow words take fewer bytes than those of 32 bits with one scale.

    Each part has its own indptr, and each row may have a scale.
    """
    ends = (narrow_parts(columns) - 1) * (rows + 1) * indptr.dtype.itemsize
    return 2 * nse > ends + (scale.nbytes if scale.ndim else 0)


def narrowed(columns: Any, indptr: Any, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns, of `width`, as narrow words, and indptr, for each part if there are several."""
    parts = narrow_parts(width)
    if parts == 1:
        return columns.astype(np.uint16), indptr
    starts = equal_starts(width, parts)
    order, part, ends = _cut(columns, indptr, starts)
    return (columns - starts[part])[order].astype(np.uint16), ends


def balanced(words: Any, indptr: Any, shape: tuple[int, int], parts: int) -> tuple[np.ndarray, ...]:
    """Return the words by parts of the columns, (parts, rows + 1), where rows begin, and where parts do.

    If narrow words cannot hold the columns of a part, each is cut into as many.
    """
    columns = shape[1]
    if parts < 1:
        raise ValueError(f"parts is {parts}; expected 1 or more, such as one for each thread")
    codes, ids, ends = map(np.asarray, in_rows(words, indptr, shape))
    check_indptr(ends, words.size, MEND)
    check_in_range("entries", ids, columns, "columns", MEND)
    before = np.append(0, np.cumsum(np.bincount(ids, minlength=columns)))
    starts = np.array(balanced_starts(before, parts))
    if are_narrow(words):
        pieces = narrow_parts(int(np.diff(starts).max()))
        steps = np.arange(pieces) / pieces
        starts = np.append(
            (starts[:-1, None] + np.ceil(np.diff(starts)[:, None] * steps)).astype(int), columns
        )
    order, part, split = _cut(ids.astype(np.int64), ends, starts)
    own = (ids - starts[part])[order]
    return own.astype(np.uint16) if are_narrow(words) else words_of(own, codes[order], columns), split, starts


def _cut(ids: Any, indptr: Any, starts: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the order of entries by part and row, the part of each, and (parts, rows + 1), their ends."""
    rows, parts = indptr.size - 1, len(starts) - 1
    part = np.searchsorted(starts[1:-1], ids, side="right")
    by_part = part * rows + np.repeat(np.arange(rows), np.diff(indptr))
    order = np.argsort(by_part, kind="stable")
    found = np.searchsorted(by_part[order], np.arange(parts * rows + 1)).astype(indptr.dtype)
    return order, part, np.stack([found[k * rows :][: rows + 1] for k in range(parts)])
