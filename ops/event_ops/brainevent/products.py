"""BrainEvent's products, plasticity, delays and ids of events by operators of the catalog.

Each function takes the operator that serves a primitive, the primitive's parameters, and its arrays, and
returns its results. BrainEvent's scratch arrays pass through.
"""

from typing import Any, Final

import jax
import jax.numpy as jnp

from event_ops.checks.arrays import summed_in
from event_ops.kernels.reference.entries import values_at

Results = tuple[jax.Array, ...]

_SLOTS: Final = ("int32", "int64", "uint32")
_BOUNDS: Final = {"w_min": -jnp.inf, "w_max": jnp.inf}  # BrainEvent clips afterwards


def events_of(x: jax.Array, weighted: bool, weights: jax.Array) -> jax.Array:
    """Return events as the catalog takes them: flags, or if `weighted` numbers that the weights meet.

    To BrainEvent any number but 0 is one event, unless its value counts.
    """
    if x.dtype == bool:
        return x
    return x.astype(summed_in(weights)) if weighted else x != 0


def csr_events(
    product: Any, p: Any, weights: Any, indices: Any, indptr: Any, x: Any, *scratch: Any
) -> Results:
    """Multiply events with a CSR matrix."""
    x = events_of(x, p.weighted, weights)
    return product(weights, indices, indptr, x, shape=p.shape, transpose=p.transpose), *scratch


def indexed_events(product: Any, p: Any, *arrays: Any) -> Results:
    """Multiply events with a CSR matrix, of which entry k has weight `permutation[k]`."""
    weights, indices, indptr, permutation, x, *scratch = arrays
    operands = weights, indices, indptr, events_of(x, p.weighted, weights), permutation
    return product(*operands, shape=p.shape, transpose=p.transpose), *scratch


def csr_numbers(
    product: Any, p: Any, weights: Any, indices: Any, indptr: Any, x: Any, *tiles: Any
) -> Results:
    """Multiply numbers with a CSR matrix."""
    x = x.astype(summed_in(weights))
    return (product(weights, indices, indptr, x, shape=p.shape, transpose=p.transpose),)


def scaled_rows(scale: Any, p: Any, y: Any, w: Any, indices: Any, indptr: Any) -> Results:
    """Compute `w[k] * y[i]` for the entries k of row i, or `w[k] * y[indices[k]]` if transposed."""
    return (w * values_at(y, indices) if p.transpose else scale(w, indptr, y),)


def dense_events(product: Any, p: Any, weights: Any, x: Any) -> Results:
    """Multiply events with a dense matrix."""
    return (product(weights, events_of(x, p.weighted, weights), transpose=p.transpose),)


def fixed_events(product: Any, p: Any, weights: Any, indices: Any, x: Any) -> Results:
    """Multiply events with a matrix of equally many entries in each row."""
    weights = weights.reshape(1) if weights.size == 1 else weights
    x = events_of(x, p.weighted, weights)
    return (product(weights, indices, x, shape=p.shape, transpose=p.transpose),)


def fixed_events_matmat(product: Any, p: Any, weights: Any, indices: Any, X: Any) -> Results:
    """Multiply a matrix of events with a matrix of equally many entries in each row."""
    return csr_events(product, p, weights.reshape(-1), *_as_csr(indices), X)


def tiled_events(
    product: Any, p: Any, weights: Any, indices: Any, indptr: Any, x: Any, *others: Any
) -> Results:
    """Multiply events with a TCSR: rows are presynaptic, or columns of the mirror are.

    A mirror has its weights at `permutation`. Trials are rows of events and results, of a mirror columns.
    """
    *scratch, _local_targets, _tile_offsets, permutation = others
    x = events_of(x, p.weighted, weights)
    if p.transpose:
        return product(weights, indices, indptr, x.T, shape=p.shape, transpose=True).T, *scratch
    operands = weights, indices, indptr, x, permutation
    return product(*operands, shape=(p.shape[1], p.shape[0]), transpose=True), *scratch


def tiled_numbers_matmat(
    product: Any, p: Any, weights: Any, indices: Any, indptr: Any, X: Any, *_: Any
) -> Results:
    """Multiply a matrix of numbers, a row for each trial, with a TCSR."""
    (Y,) = csr_numbers(product, p, weights, indices, indptr, X.T)
    return (Y.T,)


def csr_on_pre(stdp: Any, p: Any, w: Any, indices: Any, indptr: Any, spikes: Any, trace: Any) -> Results:
    """Compute `w[k] += trace[indices[k]]` for the entries k of rows that spike."""
    active, x = events_of(spikes, False, w), -trace.astype(w.dtype)
    return (stdp(w, indices, indptr, active, x, shape=p.shape, A_minus=1, **_BOUNDS),)


def csr_on_post(
    stdp: Any, p: Any, w: Any, rows: Any, indptr: Any, places: Any, trace: Any, spikes: Any
) -> Results:
    """Compute `w[places[k]] += trace[rows[k]]` for the entries k of columns that spike."""
    active, x = events_of(spikes, False, w), trace.astype(w.dtype)
    structure = rows, indptr, places.astype(rows.dtype)
    return (stdp(w, *structure, active, x, shape=p.shape, A_plus=1, **_BOUNDS),)


def fixed_on_pre(stdp: Any, p: Any, w: Any, indices: Any, spikes: Any, trace: Any) -> Results:
    """Compute `w[i, k] += trace[indices[i, k]]` for rows i that spike."""
    active, x = events_of(spikes, False, w), -trace.astype(w.dtype)
    static = {"shape": (indices.shape[0], trace.size), "A_minus": 1, **_BOUNDS}
    return (stdp(w.reshape(-1), *_as_csr(indices), active, x, **static).reshape(w.shape),)


def delayed(deliver: Any, p: Any, ring: Any, events: Any, w: Any, *structure_and_t: Any) -> Results:
    """Compute `ring[(t + delays[k]) % L, indices[k]] += w[k]` for the entries k of rows that spike."""
    indices, indptr, delays, *_, t = structure_and_t
    wide = t if t.dtype.itemsize < 4 else jnp.remainder(t, jnp.asarray(ring.shape[0], t.dtype))
    slot = t if t.dtype in _SLOTS else wide.astype(jnp.int32)
    spikes = events_of(events, p.weighted, ring)
    return (deliver(ring, w, indices, indptr, delays, spikes, slot, shape=p.shape),)


def ids_of_events(compact: Any, p: Any, x: Any) -> Results:
    """Return the ids of active events, with 0 in places that are not used, and their number."""
    ids, count = compact(events_of(x, False, x))
    return jnp.where(ids < x.size, ids, 0), count.reshape(1)


def _as_csr(indices: Any) -> tuple[jax.Array, jax.Array]:
    """Return indices and indptr of a matrix of equally many entries in each row."""
    rows, per_row = indices.shape
    return indices.reshape(-1), jnp.arange(rows + 1, dtype=jnp.int32) * per_row
