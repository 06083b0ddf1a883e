"""Conversion of ELLPACK matrices from and to CSR: rows are padded, or padding is left out."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import check_countable, is_known
from event_ops.kernels.reference.entries import ell_as_csr, values_at
from event_ops.sparse.convert import Parts, kept, numbers, order_of
from event_ops.sparse.coordinates import outside_index


def from_csr(A: Any, per_row: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return data and indices of a `CSR`, each row padded to `per_row` entries, whose index is no column.

    The third array is the order: which entry of A each is, its number of entries for padding. With per_row,
    free slots are left out; without it each row keeps its own, and ValueError is raised unless all rows are
    of one length.
    """
    B, of_b = A.tocsr(return_order=True)
    if not is_known(B.indptr):
        raise ValueError(
            "the matrix is being traced, and how many entries its rows have is not known; convert it outside "
            "of jit, or keep the CSR"
        )
    parts = kept(Parts(B.data, B.indices, B.indptr, B.shape), free=per_row is not None)
    data, indices, indptr, shape, _ = parts
    order = of_b[order_of(parts)]
    ends: Any = np.asarray(indptr)
    starts, lengths = ends[:-1], ends[1:] - ends[:-1]
    width = _width(lengths, per_row)
    there = np.arange(width) < lengths[:, None]
    if there.all():
        whole = data.reshape(there.shape) if data.ndim else data
        return whole, indices.reshape(there.shape), order.reshape(there.shape)
    places = jnp.asarray(np.where(there, starts[:, None] + np.arange(width), indices.size))
    indices = _wide_enough(indices, shape[1])
    columns = jnp.where(there, values_at(indices, places), outside_index(shape[1], indices.dtype))
    padded = values_at(data, places) if data.ndim else data
    outside = jnp.asarray(A.nse, order.dtype)
    return padded, columns, jnp.where(there, values_at(order, places), outside)


def _width(lengths: np.ndarray, per_row: Any) -> int:
    shortest, longest = (int(lengths.min()), int(lengths.max())) if lengths.size else (0, 0)
    if per_row is None and shortest != longest:
        raise ValueError(
            f"the rows have {shortest} to {longest} entries; expected as many in each: pad them, with "
            f"per_row={longest}, or keep the CSR"
        )
    if per_row is not None and per_row < longest:
        raise ValueError(f"per_row is {per_row}; expected at least {longest}, the entries of the longest row")
    return longest if per_row is None else int(per_row)


def _wide_enough(indices: jax.Array, columns: int) -> jax.Array:
    """Return the indices in a dtype that has an index for padding, which for a signed one may be -1."""
    if columns <= jnp.iinfo(indices.dtype).max or jnp.issubdtype(indices.dtype, jnp.signedinteger):
        return indices
    check_countable(columns, "columns")
    return indices.astype(jnp.int64)


def csr_parts(data: jax.Array, indices: jax.Array, shape: tuple[int, int]) -> Parts:
    """Return the matrix as CSR, without padding where the indices are known."""
    flat = Parts(*ell_as_csr(data, indices), shape)
    if not is_known(indices):
        return flat
    columns = np.asarray(indices)
    there = (columns >= 0) & (columns < shape[1])
    if there.all():
        return flat
    indptr = np.append([0], np.cumsum(there.sum(axis=1))).astype(flat.indptr.dtype)
    places = np.flatnonzero(there)
    weights = flat.data[places] if data.ndim else flat.data
    return Parts(weights, flat.indices[places], jnp.asarray(indptr), shape, numbers(there.size)[places])
