"""Products of ELLPACK matrices, and their conversion from and to CSR."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.catalog.csr_event_matmat.op import kernel as csr_event_matmat
from event_ops.catalog.csr_event_matvec.op import kernel as csr_event_matvec
from event_ops.catalog.csr_matmat.op import kernel as csr_matmat
from event_ops.catalog.csr_todense.op import todense
from event_ops.catalog.ell_event_matvec.op import ell_event_matvec
from event_ops.catalog.ell_matvec.op import ell_matvec
from event_ops.checks import contracts
from event_ops.checks.arrays import FLOAT_WEIGHTS, check_countable, check_dtype, is_known, summed_in
from event_ops.checks.csr import check_event_vector, check_events, readable
from event_ops.checks.keywords import known_size
from event_ops.checks.values import contract
from event_ops.kernels.reference.entries import ell_as_csr, values_at
from event_ops.sparse.convert import Parts, numbers, order_of, spanned_entries
from event_ops.sparse.coordinates import outside_index
from event_ops.sparse.events import Events


def product(A: Any, data: jax.Array, x: jax.Array) -> jax.Array:
    """Return A @ x for a vector or a matrix x of the dtype of `data`, which may be one weight."""
    weights = jnp.broadcast_to(data, A.indices.shape)  # no operator of ELLPACK takes one for all
    static: dict[str, Any] = {"shape": A.stored_shape, "transpose": A.transposed}
    if x.ndim == 1:
        return ell_matvec(weights, A.indices, x, **static)
    return ell_product(csr_matmat, weights, A.indices, x, **static)


def event_product(A: Any, events: Events) -> jax.Array:
    """Return A @ events for a vector of events in any encoding, or a matrix of them."""
    x, data, indices = events.values, A.data, A.indices
    shape, transpose = A.stored_shape, A.transposed
    static: dict[str, Any] = {"shape": shape, "transpose": transpose}
    if x.ndim == 1 and events.encoding == "flags":
        return ell_event_matvec(data, indices, x, **static)
    check_dtype("data", data, FLOAT_WEIGHTS)
    if x.ndim == 1:
        check_event_vector("events", x, data, shape, transpose, events.encoding)
        x = readable(x, events.encoding, summed_in(data))
        return ell_product(csr_event_matvec, data, indices, x, **static)
    check_events("events", x, data)
    return ell_product(csr_event_matmat, data, indices, x, **static)


@contract(indices=contracts.columns_or_padding)
def ell_todense(data: jax.Array, indices: jax.Array, *, shape: tuple[int, int]) -> jax.Array:
    """Return the matrix as a dense array."""
    return todense(*ell_as_csr(data, indices), shape=shape, deterministic=False)


# Compiled, so that a call outside of other programs has no copy of the entries made either.
@contract(indices=contracts.columns_or_padding)
@partial(jax.jit, static_argnums=0, static_argnames=("shape", "transpose"), inline=True)
def ell_product(
    kernel: Any, data: jax.Array, indices: jax.Array, x: jax.Array, *, shape: Any, transpose: bool
) -> jax.Array:
    """Return the product of a CSR operator that takes no notice of entries out of range."""
    size = shape[1] if transpose else shape[0]
    outs = jax.ShapeDtypeStruct((size, *x.shape[1:]), summed_in(data))
    static = {"shape": shape, "transpose": transpose, "deterministic": False}
    return kernel(*ell_as_csr(data, indices), x, outs=outs, **static)


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
    parts = spanned_entries(Parts(B.data, B.indices, B.indptr, B.shape), free=per_row is not None)
    data, indices, indptr, shape, _ = parts
    order = of_b[order_of(parts)]
    ends: Any = np.asarray(indptr).astype(np.int64)  # beside signed ones, uint64 would become floats
    starts, lengths = ends[:-1], ends[1:] - ends[:-1]
    shortest, longest = (int(lengths.min()), int(lengths.max())) if lengths.size else (0, 0)
    if per_row is None and shortest != longest:
        raise ValueError(
            f"the rows have {shortest} to {longest} entries; expected as many in each: pad them, with "
            f"per_row={longest}, or keep the CSR"
        )
    width = longest if per_row is None else known_size("per_row", per_row)
    if width < longest:
        raise ValueError(f"per_row is {per_row}; expected at least {longest}, the entries of the longest row")
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
