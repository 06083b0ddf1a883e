"""Check the arguments of ELLPACK operators: weights and columns, as many for every row."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify

from event_ops.checks.arrays import INDICES, check_dtype, check_rank, check_shape, is_known
from event_ops.checks.contracts import columns_or_padding
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


def check_columns(indices: jax.Array, shape: tuple[int, int], hint: str) -> None:
    """Raise ValueError, which ends with `hint`, unless all indices that are known are columns or padding."""
    if not is_known(indices):
        return
    values, rule = np.asarray(indices), columns_or_padding({"shape": shape})
    bad = np.argwhere(rule.wrong(values, np))
    if len(bad):
        place = tuple(map(int, bad[0]))
        raise ValueError(
            f"indices[{place[0]}, {place[1]}] is {values[place]}, and {len(bad)} of {values.size} are wrong; "
            f"expected {rule.expected}; {hint}"
        )


def checkify_columns(indices: jax.Array, shape: tuple[int, int]) -> None:
    """Check by `checkify.check`, which works under jit, that all indices are columns or padding."""
    rule = columns_or_padding({"shape": shape})
    wrong = rule.wrong(indices, jnp)
    checkify.check(
        ~jnp.any(wrong), f"{{}} of {indices.size} indices are wrong; expected {rule.expected}", jnp.sum(wrong)
    )
