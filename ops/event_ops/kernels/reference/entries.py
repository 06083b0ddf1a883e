"""Entries of a CSR matrix in pure JAX: the row and column of each, for references and weight gradients."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.arrays import check_countable, counter, is_inside, reaches

# One program where they are called by themselves, and part of the caller's while tracing.
_of_arrays = partial(jax.jit, inline=True)


@partial(_of_arrays, static_argnames="nse")
def rows_of(indptr: jax.Array, nse: int) -> jax.Array:
    """Return the row of every entry, -1 or the number of rows for entries that no row holds."""
    positions = jnp.arange(nse, dtype=indptr.dtype)
    # Of equal ends the last counts: rows without entries are passed over.
    return jnp.searchsorted(indptr, positions, side="right").astype(counter(indptr.shape[0])) - 1


@partial(_of_arrays, static_argnames="size")
def inside(ids: jax.Array, size: int) -> jax.Array:
    """Return ids in [0, size) as they are, and `size`, which lookups and sums leave out, for all else.

    Raise ValueError for a size that no integer dtype has.
    """
    if reaches(size, jnp.iinfo(ids.dtype).max + 1):
        check_countable(size, "elements along an axis")
        ids = ids.astype(jnp.int64)
    return jnp.where(is_inside(ids, size), ids, jnp.asarray(size, ids.dtype))


def ends_of(indices: jax.Array, indptr: jax.Array, shape: tuple[int, int], transpose: bool) -> Any:
    """Return the ids that entries add to and their number, then the ids that they read and their number.

    For A @ x these are rows and columns, for A.T @ x columns and rows.
    """
    rows, columns = (rows_of(indptr, indices.shape[0]), shape[0]), (indices, shape[1])
    return (columns, rows) if transpose else (rows, columns)


@_of_arrays
def values_at(x: jax.Array, ids: jax.Array) -> jax.Array:
    """x[ids], elements or rows, and 0 where an id is out of range; no id counts from the end."""
    if x.shape[0] == 0:  # JAX refuses to look anything up in an empty array
        return jnp.zeros(ids.shape + x.shape[1:], x.dtype)
    places = inside(ids, x.shape[0])
    return jnp.asarray(x).at[places].get(mode="fill", fill_value=0)


@partial(_of_arrays, static_argnames="size")
def sums_at(terms: jax.Array, ids: jax.Array, size: int) -> jax.Array:
    """Return, for each of `size` ids, the sum of its terms; ids out of range are left out."""
    zeros = jnp.zeros((size, *terms.shape[1:]), terms.dtype)
    return zeros.at[inside(ids, size)].add(terms, mode="drop")


def grouped(row: Any, column: Any, xp: Any) -> tuple[Any, Any]:
    """Return the order that sorts coordinates, and which of the sorted ones differ from their predecessor.

    xp: `numpy` or `jax.numpy`.
    """
    order = xp.lexsort((column, row))
    row, column = row[order], column[order]
    differs = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    # The first has no predecessor, and no entries have no first.
    return order, xp.concatenate([xp.ones(min(row.shape[0], 1), bool), differs])


def starts_of(rows: int, per_row: int) -> jax.Array:
    """Return indptr for rows that have `per_row` entries each."""
    check_countable(rows * per_row, "entries")
    return jnp.arange(rows + 1, dtype=counter(rows * per_row)) * per_row


def ell_as_csr(data: jax.Array, indices: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return (data, indices, indptr) of an ELLPACK matrix; a single weight stays 0-d."""
    weights = data.reshape(-1) if data.ndim else data
    return weights, indices.reshape(-1), starts_of(*indices.shape)


def along(data: jax.Array, x: jax.Array) -> jax.Array:
    """Return a vector with as many axes as `x`, an element for each of its rows; one number stays 0-d."""
    return data.reshape(data.shape + (1,) * (x.ndim - data.ndim)) if data.ndim else data


@_of_arrays
def event_terms(data: jax.Array, active: jax.Array) -> jax.Array:
    """Return the term of each entry for its event: 0 for an inactive one, whatever the weight is."""
    weights = jnp.where(active.astype(bool), along(data, active), 0)
    return weights if active.dtype == bool else weights * active


def chosen_product(x: jax.Array, y: jax.Array) -> jax.Array:
    """Return x * y, where the one of bools, if any, chooses."""
    if x.dtype == bool:
        return jnp.where(x, y, 0)
    return jnp.where(y, x, 0) if y.dtype == bool else x * y


@partial(_of_arrays, static_argnames=("size", "dtype"))
def event_counts(ids: jax.Array, size: int, dtype: Any) -> jax.Array:
    """Return how often each of `size` ids occurs among spike ids; ids out of range are left out."""
    return sums_at(jnp.ones(ids.shape, dtype), ids, size)


@partial(_of_arrays, static_argnames="size")
def packed_flags(words: jax.Array, size: int) -> jax.Array:
    """Return the first `size` events, which are bits of 32-bit words, as bools."""
    bits = words[:, None] >> jnp.arange(32, dtype=jnp.uint32)[None, :] & jnp.uint32(1)
    return bits.reshape(-1)[:size] != 0


@partial(_of_arrays, static_argnames=("size", "dtype"))
def one_each(events: jax.Array, size: int, dtype: Any) -> jax.Array:
    """Return one bool or number per neuron, of events given so, as counts, as spike ids or as bits."""
    if events.dtype == jnp.int32:
        return event_counts(events, size, dtype)
    if events.dtype == jnp.uint32:
        return packed_flags(events, size)
    return events.astype(dtype) if jnp.issubdtype(events.dtype, jnp.integer) else events


@partial(_of_arrays, static_argnames="fill")
def dense_at(D: jax.Array, rows: jax.Array, columns: jax.Array, fill: int = 0) -> jax.Array:
    """Return D[rows, columns], and `fill` where either is out of range; no id counts from the end."""
    if D.size == 0:  # JAX refuses to look anything up in an empty array
        return jnp.full(rows.shape, fill, D.dtype)
    places = inside(rows, D.shape[0]), inside(columns, D.shape[1])
    return jnp.asarray(D).at[places].get(mode="fill", fill_value=fill)
