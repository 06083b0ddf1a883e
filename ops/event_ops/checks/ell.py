"""Check the arguments of ELLPACK operators: weights and columns, as many for every row."""

from __future__ import annotations

from collections.abc import Sequence

import jax

from event_ops.checks.arrays import INDICES, check_dtype, check_rank, check_shape
from event_ops.checks.csr import check_weight_count


def check_ell(data: jax.Array, indices: jax.Array, shape: tuple[int, int], dtypes: Sequence[str]) -> None:
    """Raise unless the two arrays can be an ELLPACK matrix of `shape`, as far as shapes and dtypes tell.

    A 0-d `data` passes: the caller decides whether one weight may stand for all.
    """
    check_dtype("data", data, dtypes)
    check_dtype("indices", indices, INDICES)
    check_rank("indices", indices, 2, "(rows, entries per row)")
    why = f"one row per row of shape={shape}; rows with fewer entries are padded with an index out of range"
    check_shape("indices", indices, (shape[0], indices.shape[1]), why=why)
    check_weight_count(data, indices)
