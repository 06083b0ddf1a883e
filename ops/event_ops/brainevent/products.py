"""BrainEvent's products, plasticity, delays and ids of events by operators of the catalog."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.catalog.csr_event_deliver.op import csr_event_deliver
from event_ops.catalog.csr_event_matmat.op import csr_event_matmat
from event_ops.catalog.csr_event_matvec.op import csr_event_matvec
from event_ops.catalog.csr_matmat.op import csr_matmat
from event_ops.catalog.csr_matvec.op import csr_matvec
from event_ops.catalog.csr_scale_rows.op import csr_scale_rows
from event_ops.catalog.dense_event_matmat.op import dense_event_matmat
from event_ops.catalog.dense_event_matvec.op import dense_event_matvec
from event_ops.catalog.ell_event_matvec.op import ell_event_matvec
from event_ops.catalog.spike_compact.op import spike_compact
from event_ops.catalog.stdp_on_post.op import stdp_on_post
from event_ops.catalog.stdp_on_pre.op import stdp_on_pre
from event_ops.checks.arrays import summed_in
from event_ops.kernels.reference.entries import values_at

Call = Callable[..., tuple[jax.Array, ...]]
_LARGEST: Final = np.iinfo(np.int32).max


def events_of(x: jax.Array, weighted: bool, weights: jax.Array) -> jax.Array:
    """Return events as the catalog takes them: flags, or if `weighted` numbers that the weights meet.

    To BrainEvent any number but 0 is one event, unless its value counts.
    """
    if x.dtype == bool:
        return x
    return x.astype(summed_in(weights)) if weighted else x != 0


def event_product(product: Callable[..., jax.Array], *, indexed: bool = False) -> Callable[..., Call]:
    """Return the builder for events times a CSR matrix; BrainEvent's scratch arrays pass through.

    `indexed`: a permutation comes before the events, and entry k has weight `permutation[k]`.
    """

    def build(*, shape: tuple[int, int], transpose: bool, weighted: bool = False, **_: Any) -> Call:
        def call(weights: Any, indices: Any, indptr: Any, *others: Any) -> tuple[jax.Array, ...]:
            places, (x, *scratch) = others[:indexed], others[indexed:]
            operands = weights, indices, indptr, events_of(x, weighted, weights), *places
            return product(*operands, shape=shape, transpose=transpose), *scratch

        return call

    return build


def number_product(product: Callable[..., jax.Array]) -> Callable[..., Call]:
    """Return the builder for numbers times a CSR matrix."""

    def build(*, shape: tuple[int, int], transpose: bool, **_: Any) -> Call:
        def call(weights: Any, indices: Any, indptr: Any, x: Any, *tiles: Any) -> tuple[jax.Array, ...]:
            x = x.astype(summed_in(weights))
            return (product(weights, indices, indptr, x, shape=shape, transpose=transpose),)

        return call

    return build


def csrmv_dt2t(*, transpose: bool, **_: Any) -> Call:
    """Build `w[k] * y[i]` for the entries k of row i, or `w[k] * y[indices[k]]` if transposed."""

    def call(y: Any, w: Any, indices: Any, indptr: Any) -> tuple[jax.Array, ...]:
        return (w * values_at(y, indices) if transpose else csr_scale_rows(w, indptr, y),)

    return call


def dense_event_product(product: Callable[..., jax.Array]) -> Callable[..., Call]:
    """Return the builder for events times a dense matrix."""

    def build(*, transpose: bool, weighted: bool = False, **_: Any) -> Call:
        def call(weights: Any, x: Any) -> tuple[jax.Array, ...]:
            return (product(weights, events_of(x, weighted, weights), transpose=transpose),)

        return call

    return build


def fixed_event_product(*, shape: tuple[int, int], transpose: bool, weighted: bool = False, **_: Any) -> Call:
    """Build the product of events with a matrix of equally many entries in each row."""

    def call(weights: Any, indices: Any, x: Any) -> tuple[jax.Array, ...]:
        weights = weights.reshape(1) if weights.size == 1 else weights
        events = events_of(x, weighted, weights)
        return (ell_event_matvec(weights, indices, events, shape=shape, transpose=transpose),)

    return call


def fixed_event_matmat(
    *, shape: tuple[int, int], transpose: bool, indices_info: Any, weighted: bool = False, **_: Any
) -> Call | None:
    """Build the product of a matrix of events with a matrix of equally many entries in each row."""
    rows, per_row = indices_info.shape

    def call(weights: Any, indices: Any, X: Any) -> tuple[jax.Array, ...]:
        indptr = jnp.arange(rows + 1, dtype=jnp.int32) * per_row
        events = events_of(X, weighted, weights)
        matrix = weights.reshape(-1), indices.reshape(-1), indptr
        return (csr_event_matmat(*matrix, events, shape=shape, transpose=transpose),)

    return call if rows * per_row <= _LARGEST else None


def tiled_event_product(*, shape: tuple[int, int], transpose: bool, weighted: bool = False, **_: Any) -> Call:
    """Build the product of events with a TCSR: rows are presynaptic, or columns of the mirror are.

    A mirror has its weights at `permutation`. Trials are rows of events and results, of a mirror columns.
    """
    rows = shape if transpose else (shape[1], shape[0])

    def call(weights: Any, indices: Any, indptr: Any, x: Any, *others: Any) -> tuple[jax.Array, ...]:
        *scratch, _local_targets, _tile_offsets, permutation = others
        places = () if transpose else (permutation,)
        events = events_of(x, weighted, weights)
        if events.ndim == 1:
            y = csr_event_matvec(weights, indices, indptr, events, *places, shape=rows, transpose=True)
            return y, *scratch
        by_neuron = events.T if transpose else events
        Y = csr_event_matmat(weights, indices, indptr, by_neuron, *places, shape=rows, transpose=True)
        return Y.T if transpose else Y, *scratch

    return call


def tiled_number_matmat(*, shape: tuple[int, int], transpose: bool, **_: Any) -> Call:
    """Build the product of a matrix of numbers, a row for each trial, with a TCSR."""

    def call(weights: Any, indices: Any, indptr: Any, X: Any, *tiles: Any) -> tuple[jax.Array, ...]:
        by_neuron = X.astype(summed_in(weights)).T
        return (csr_matmat(weights, indices, indptr, by_neuron, shape=shape, transpose=transpose).T,)

    return call


binary_csrmv, binary_csrmm = event_product(csr_event_matvec), event_product(csr_event_matmat)
binary_csrmv_indexed = event_product(csr_event_matvec, indexed=True)
binary_csrmm_indexed = event_product(csr_event_matmat, indexed=True)
csrmv, csrmm = number_product(csr_matvec), number_product(csr_matmat)
binary_densemv, binary_densemm = (
    dense_event_product(dense_event_matvec),
    dense_event_product(dense_event_matmat),
)


_SLOTS = ("int32", "int64", "uint32")
_WAITS_FOR_MEMORY = 1 << 22  # entries: ours takes 0.9 of BrainEvent's time with 3.2 M, 1.1 with 4.8 M
_LOW, _HIGH = -jnp.inf, jnp.inf  # BrainEvent clips afterwards


def csr_on_pre(*, shape: tuple[int, int], **_: Any) -> Call:
    """Build `w[k] += trace[indices[k]]` for the entries k of rows that spike."""

    def call(w: Any, indices: Any, indptr: Any, spikes: Any, trace: Any) -> tuple[jax.Array, ...]:
        active, x = events_of(spikes, False, w), -trace.astype(w.dtype)
        return (stdp_on_pre(w, indices, indptr, active, x, shape=shape, A_minus=1, w_min=_LOW, w_max=_HIGH),)

    return call


def csr_on_post(*, shape: tuple[int, int], **_: Any) -> Call:
    """Build `w[permutation[k]] += trace[rows[k]]` for the entries k of columns that spike."""

    def call(
        w: Any, rows: Any, indptr: Any, permutation: Any, trace: Any, spikes: Any
    ) -> tuple[jax.Array, ...]:
        active, x = events_of(spikes, False, w), trace.astype(w.dtype)
        structure = rows, indptr, permutation.astype(rows.dtype)
        return (stdp_on_post(w, *structure, active, x, shape=shape, A_plus=1, w_min=_LOW, w_max=_HIGH),)

    return call


def fixed_on_pre(*, indices_info: Any, trace_info: Any, **_: Any) -> Call:
    """Build `w[i, k] += trace[indices[i, k]]` for rows i that spike."""
    rows, per_row = indices_info.shape
    of_rows = csr_on_pre(shape=(rows, trace_info.shape[0]))

    def call(w: Any, indices: Any, spikes: Any, trace: Any) -> tuple[jax.Array, ...]:
        indptr = jnp.arange(rows + 1, dtype=jnp.int32) * per_row
        (changed,) = of_rows(w.reshape(-1), indices.reshape(-1), indptr, spikes, trace)
        return (changed.reshape(w.shape),)

    return call


def delay_deliver(*, indices_info: Any, **params: Any) -> Call | None:
    """Build `delay_deliver_layout` up to the size at which both wait for memory alike."""
    return delay_deliver_layout(**params) if indices_info.size <= _WAITS_FOR_MEMORY else None


def delay_deliver_layout(*, shape: tuple[int, int], weighted: bool = False, **_: Any) -> Call:
    """Build `ring[(t + delays[k]) % L, indices[k]] += w[k]` for the entries k of rows that spike."""

    def call(
        ring: Any, events: Any, w: Any, indices: Any, indptr: Any, delays: Any, *pointers_and_t: Any
    ) -> tuple[jax.Array, ...]:
        t = pointers_and_t[-1]
        wide = t if t.dtype.itemsize < 4 else jnp.remainder(t, jnp.asarray(ring.shape[0], t.dtype))
        slot = t if t.dtype in _SLOTS else wide.astype(jnp.int32)
        spikes = events_of(events, weighted, ring)
        return (csr_event_deliver(ring, w, indices, indptr, delays, spikes, slot, shape=shape),)

    return call


def ids_of_events(**_: Any) -> Call:
    """Build the ids of active events, with 0 in places that are not used, and their number."""

    def call(x: Any) -> tuple[jax.Array, ...]:
        ids, count = spike_compact(events_of(x, False, x))
        return jnp.where(ids < x.size, ids, 0), count.reshape(1)

    return call
