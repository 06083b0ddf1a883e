"""Visiting the entries of a dense matrix, laid flat row by row, whose row or column is active."""

from typing import Any

import numpy as np
from numba import prange

from event_ops.kernels.numba_cpu.access import hoist
from event_ops.kernels.numba_cpu.blocks import AT_ONCE
from event_ops.kernels.numba_cpu.events import listed_ids
from event_ops.kernels.numba_cpu.jit import by_type, is_array, njit, num_threads
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL


@by_type
def laid_flat(values: Any) -> Any:
    """Return the elements of a matrix row by row; of anything else the result of `hoist`."""
    if is_array(values) and values.ndim == 2:
        return lambda values: values.reshape(-1)
    return lambda values: hoist(values)


@njit
def row_sizes(ids: Any, spikes: Any, other: Any) -> tuple[int, int]:
    """Return how many rows have entries to visit, and the number of columns."""
    return ids.size, other


@njit
def column_sizes(ids: Any, spikes: Any, other: Any) -> tuple[int, int]:
    """Return the same where columns are active, of which every row has entries."""
    return other, spikes.size


def make_visit_rows(update: Any) -> Any:
    """Return the function that calls `update` for each entry of the rows ids[low:high]."""

    @njit(_nrt=False)
    def visit_rows(synapses: Any, variables: Any, ids: Any, columns: Any, low: Any, high: Any) -> None:
        width = np.uintp(columns)
        for position in range(np.uintp(low), np.uintp(high)):
            i = np.uintp(ids[position])
            for j in range(width):
                update(i * width + j, i, j, synapses, variables)

    return visit_rows


def make_visit_rows_in_blocks(empty: Any, run: Any) -> Any:
    """Return the same for a rule that is applied in blocks."""

    @njit(_nrt=False)
    def visit(
        synapses: Any,
        variables: Any,
        ids: Any,
        columns: Any,
        low: Any,
        high: Any,
        block: Any,
        synapse_ids: Any,
        neurons: Any,
    ) -> None:
        width = np.uintp(columns)
        for position in range(np.uintp(low), np.uintp(high)):
            i = np.uintp(ids[position])
            for first in range(np.uintp(0), width, AT_ONCE):
                count = min(AT_ONCE, width - first)
                for q in range(count):
                    synapse_ids[q], neurons[q] = i * width + first + q, first + q
                run(count, i, synapse_ids, neurons, synapses, variables, block)

    @njit
    def visit_rows(synapses: Any, variables: Any, ids: Any, columns: Any, low: Any, high: Any) -> None:
        block, room = empty(synapses)
        visit(synapses, variables, ids, columns, low, high, block, room[0], room[1])

    return visit_rows


def make_visit_columns(update: Any) -> Any:
    """Return the function that calls `update` for each entry of the columns `ids`, in rows low to high."""

    @njit(_nrt=False)
    def visit_columns(synapses: Any, variables: Any, ids: Any, columns: Any, low: Any, high: Any) -> None:
        width = np.uintp(columns)
        for i in range(np.uintp(low), np.uintp(high)):
            for position in range(np.uintp(ids.size)):
                j = np.uintp(ids[position])
                update(i * width + j, j, i, synapses, variables)

    return visit_columns


def make_visit_columns_in_blocks(empty: Any, run: Any) -> Any:
    """Return the function that changes each entry of the columns `ids`, in rows low to high, in blocks."""

    @njit(_nrt=False)
    def visit(
        synapses: Any,
        variables: Any,
        ids: Any,
        columns: Any,
        low: Any,
        high: Any,
        block: Any,
        synapse_ids: Any,
    ) -> None:
        width = np.uintp(columns)
        for i in range(np.uintp(low), np.uintp(high)):
            for first in range(np.uintp(0), np.uintp(ids.size), AT_ONCE):
                count = min(AT_ONCE, np.uintp(ids.size) - first)
                for q in range(count):
                    synapse_ids[q] = i * width + np.uintp(ids[first + q])
                run(count, i, synapse_ids, ids[first:], synapses, variables, block)

    @njit
    def visit_columns(synapses: Any, variables: Any, ids: Any, columns: Any, low: Any, high: Any) -> None:
        block, room = empty(synapses)
        visit(synapses, variables, ids, columns, low, high, block, room[0])

    return visit_columns


def visiting(visit_part: Any, sizes: Any, large: bool) -> Any:
    """Return the function that visits all entries of active rows or columns, on one thread or on all.

    It takes all threads if there are entries enough: no two rows share one.
    """

    # Inlined, since only the parallel regions of a kernel itself are entered without the GIL.
    @njit(inline="always" if large else "never")
    def visit(synapses: Any, spikes: Any, variables: Any) -> None:
        ids = listed_ids(spikes)
        if ids.size:
            other = synapses[0].size // spikes.size
            rows, columns = sizes(ids, spikes, other)
            if not large or ids.size * other < MIN_PARALLEL:
                visit_part(synapses, variables, ids, columns, 0, rows)
            else:
                parts = num_threads()
                for part in prange(parts):
                    low, high = rows * part // parts, rows * (part + 1) // parts
                    visit_part(synapses, variables, ids, columns, low, high)

    return visit


def visiting_rows(visit_rows: Any, large: bool) -> Any:
    """Return the function that visits the rows that spike."""
    return visiting(visit_rows, row_sizes, large)


def visiting_columns(visit_columns: Any, large: bool) -> Any:
    """Return the function that visits the columns that spike."""
    return visiting(visit_columns, column_sizes, large)
