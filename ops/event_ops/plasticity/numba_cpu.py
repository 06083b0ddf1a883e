"""A rule applied on the CPU to the synapses of the neurons that spiked, in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.parts.numba_cpu import dense_visits
from event_ops.parts.numba_cpu.access import hoist
from event_ops.parts.numba_cpu.deliver import MIN_ENTRIES_PARALLEL, entries_up_to
from event_ops.parts.numba_cpu.events import listed_ids
from event_ops.parts.numba_cpu.jit import njit, num_threads
from event_ops.parts.numba_cpu.plasticity import AT_ONCE, entry, prefetch_entries, prefetch_weights
from event_ops.parts.numba_cpu.split import MIN_PARALLEL
from event_ops.plasticity.emit import (
    COLUMNS,
    DENSE_COLUMNS,
    DENSE_ROWS,
    ROWS,
    Storage,
    defined,
    kernel_source,
    update_source,
)
from event_ops.plasticity.rule import Rule
from ffi_bridge import numba_kernel

_KEPT = 1024  # rules


@njit
def is_stored(places: Any, k: Any, nse: Any) -> Any:
    """Return whether synapse k is one of nse; those in the order of the entries are, wherever a row ends."""
    if places is None:
        return True
    return k < nse


def rows_with(update: Any) -> Any:
    """Return the function that calls `update` for each entry of some rows."""

    # Nothing is allocated: reference counts of the arrays would take longer than a short row.
    @njit(_nrt=False)
    def visit_rows(
        synapses: Any, indices: Any, indptr: Any, places: Any, limit: Any, variables: Any, ids: Any
    ) -> None:
        nse, size = np.uintp(indices.size), np.uintp(limit)
        for position in range(np.uintp(ids.size)):
            for values in synapses:
                prefetch_entries(values, indices, indptr, places, ids, position)
            i = np.uintp(ids[position])
            begin, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)
            for first in range(begin, end, AT_ONCE):
                later = min(first + AT_ONCE, end)
                for values in synapses:
                    prefetch_weights(values, places, later, end)
                for p in range(first, later):
                    j, k = np.uintp(indices[p]), entry(places, p)
                    if j < size and is_stored(places, k, nse):
                        update(k, i, j, synapses, variables)

    return visit_rows


def one_thread(visit_rows: Any) -> Any:
    """Return the function that visits the rows that spike, on one thread."""

    @njit
    def visit(
        synapses: Any, indices: Any, indptr: Any, places: Any, spikes: Any, limit: Any, variables: Any
    ) -> None:
        visit_rows(synapses, indices, indptr, places, limit, variables, listed_ids(spikes))

    return visit


def all_threads(visit_rows: Any) -> Any:
    """Return the same on all threads, if there are entries enough: no two rows share a synapse."""

    # Inlined, since only the parallel regions of a kernel itself are entered without the GIL.
    @njit(inline="always")
    def visit(
        synapses: Any, indices: Any, indptr: Any, places: Any, spikes: Any, limit: Any, variables: Any
    ) -> None:
        ids = listed_ids(spikes)
        ends = entries_up_to(indptr, ids)
        work = ends[ids.size]
        if work < MIN_PARALLEL:
            visit_rows(synapses, indices, indptr, places, limit, variables, ids)
        else:
            parts = num_threads()
            for part in prange(parts):
                low = np.searchsorted(ends, work * part // parts)
                high = np.searchsorted(ends, work * (part + 1) // parts)
                mine = ids[low : ids.size if part + 1 == parts else high]
                visit_rows(synapses, indices, indptr, places, limit, variables, mine)

    return visit


@lru_cache(_KEPT)
def kernel(rule: Rule, storage: Storage, large: bool) -> Any:
    """Return the kernel of a rule for one thread, or for all threads.

    Its outputs are the memory of the synaptic variables; XLA copies those first that are needed again.
    """
    update = njit(error_model="numpy", _nrt=False)(defined(update_source(rule), "update", math=math, np=np))
    visit = visits_with(update, storage, large)
    source = kernel_source(rule, storage)
    return njit(parallel=large)(defined(source, storage.name, visit=visit, hoist=hoist))


def visits_with(update: Any, storage: Storage, large: bool) -> Any:
    """Return the function that calls `update` for each synapse of the neurons that spiked."""
    if storage is DENSE_ROWS:
        return dense_visits.visiting_rows(update, large)
    if storage is DENSE_COLUMNS:
        return dense_visits.visiting_columns(update, large)
    return (all_threads if large else one_thread)(rows_with(update))


def _build(rule: Rule, outs: Any, storage: Storage) -> Callable[..., Any]:
    aliases = {i: i for i in range(rule.count)}

    def call(*arrays: Any) -> Any:
        large = reaches(arrays[0].size, MIN_ENTRIES_PARALLEL)
        function = kernel(rule, storage, large)
        return numba_kernel(function, outs, input_output_aliases=aliases)(*arrays)

    return call


def along_rows(*, rule: Rule, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for spikes of rows."""
    return _build(rule, outs, ROWS)


def along_columns(*, rule: Rule, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for spikes of columns."""
    return _build(rule, outs, COLUMNS)


def along_dense_rows(*, rule: Rule, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for spikes of rows of a dense matrix."""
    return _build(rule, outs, DENSE_ROWS)


def along_dense_columns(*, rule: Rule, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for spikes of columns of a dense matrix."""
    return _build(rule, outs, DENSE_COLUMNS)
