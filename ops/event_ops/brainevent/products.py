"""BrainEvent's products by operators of the catalog: each `build` takes what BrainEvent tells of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.catalog.csr_event_matmat.op import csr_event_matmat
from event_ops.catalog.csr_event_matvec.op import csr_event_matvec
from event_ops.catalog.csr_matmat.op import csr_matmat
from event_ops.catalog.csr_matvec.op import csr_matvec
from event_ops.catalog.csr_scale_rows.op import csr_scale_rows
from event_ops.catalog.dense_event_matmat.op import dense_event_matmat
from event_ops.catalog.dense_event_matvec.op import dense_event_matvec
from event_ops.catalog.ell_event_matvec.op import ell_event_matvec
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
