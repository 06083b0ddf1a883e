"""What the arrays of a `CSR` must hold: checked on arrays that are known, or under jit through checkify."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify

from event_ops.checks.casts import is_known

# What to do about values that are out of range: where a caller takes validate=False, and where none does.
KEEP = "mend it, or keep it with validate=False: the operators skip what is out of range"
MEND = "mend it"


def check_in_range(name: str, ids: Any, size: int, axis: str, hint: str) -> None:
    """Raise ValueError, which ends with `hint`, unless all ids, where they are known, are in [0, size)."""
    if not is_known(ids):
        return
    values = np.asarray(ids)
    bad = np.flatnonzero((values < 0) | (values >= size))
    if bad.size:
        raise ValueError(
            f"{name}[{bad[0]}] is {values[bad[0]]}, and {bad.size} of {values.size} are out of range; "
            f"expected 0 to {size - 1}, for {size} {axis}; {hint}"
        )


def check_indptr(indptr: Any, nse: int, hint: str, *, whole: bool = True) -> None:
    """Raise ValueError unless indptr, where it is known, rises from 0 to nse; if not `whole`: within.

    The error ends with `hint`.
    """
    if not is_known(indptr):
        return
    ends = np.asarray(indptr)
    falls = np.flatnonzero(ends[1:] < ends[:-1])
    if falls.size:
        i = falls[0]
        raise ValueError(
            f"indptr falls from {ends[i]} to {ends[i + 1]} at row {i}; expected it not to decrease; {hint}"
        )
    spanned = ends[0] >= 0 and ends[-1] <= nse
    if not spanned or (whole and (ends[0] != 0 or ends[-1] != nse)):
        raise ValueError(
            f"indptr spans {ends[0]} to {ends[-1]}; expected 0 to {nse}, the number of indices; {hint}"
        )


def checkify_structure(indices: jax.Array, indptr: jax.Array, columns: int) -> None:
    """The checks above as `checkify.check`s."""
    nse = indices.shape[0]
    checkify.check(jnp.all(indptr[1:] >= indptr[:-1]), "indptr decreases; expected it never to")
    for end, expected in ((0, 0), (-1, nse)):
        checkify.check(indptr[end] == expected, f"indptr[{end}] is {{}}; expected {expected}", indptr[end])
    bad = (indices < 0) | (indices >= columns)
    checkify.check(
        ~jnp.any(bad),
        f"{{}} of {nse} indices are out of range; expected 0 to {columns - 1}",
        jnp.sum(bad),
    )


def checkify_copy(copy: jax.Array, data: jax.Array, permutation: jax.Array) -> None:
    """The plan's copy of the weights has to be `data[permutation]`."""
    differ = copy != data[permutation]
    if jnp.issubdtype(data.dtype, jnp.inexact):
        differ &= ~(jnp.isnan(copy) & jnp.isnan(data[permutation]))
    checkify.check(
        ~jnp.any(differ),
        f"{{}} of {data.shape[0]} planned weights differ from data; change weights with with_data",
        jnp.sum(differ),
    )
