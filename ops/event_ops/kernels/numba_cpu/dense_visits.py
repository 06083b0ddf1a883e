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


def make_visit_rows(update: Any, turned: bool) -> Any:
    """Return the function that calls `update` for each entry of the rows ids[low:high].

    `turned`: for each entry of the columns `ids`, in the rows from `low` to `high`.
    """

    @njit(_nrt=False)
    def visit_rows(synapses: Any, variables: Any, ids: Any, columns: Any, low: Any, high: Any) -> None:
        width = np.uintp(columns)
        for position in range(np.uintp(low), np.uintp(high)):
            i = position if turned else np.uintp(ids[position])
            for place in range(np.uintp(ids.size) if turned else width):
                j = np.uintp(ids[place]) if turned else place
                # The neuron that spiked first, then the one at the other end.
                if turned:
                    update(i * width + j, j, i, synapses, variables)
                else:
                    update(i * width + j, i, j, synapses, variables)

    return visit_rows


def make_visit_rows_in_blocks(empty: Any, run: Any, turned: bool) -> Any:
    """Return the same for a rule that is applied in blocks, which lie along rows."""

    @njit(_nrt=False)
    def visit(
        synapses: Any, variables: Any, ids: Any, columns: Any, low: Any, high: Any, block: Any,
        synapse_ids: Any, neurons: Any,
    ) -> None:  # fmt: skip
        width = np.uintp(columns)
        size = np.uintp(ids.size) if turned else width
        for position in range(np.uintp(low), np.uintp(high)):
            i = position if turned else np.uintp(ids[position])
            for first in range(np.uintp(0), size, AT_ONCE):
                count = min(AT_ONCE, size - first)
                for q in range(count):
                    if turned:
                        synapse_ids[q] = i * width + np.uintp(ids[first + q])
                    else:
                        synapse_ids[q], neurons[q] = i * width + first + q, first + q
                # A copy of the ids would be made for each row, and take up to a quarter of the time.
                if turned:
                    run(count, i, synapse_ids, ids[first:], synapses, variables, block)
                else:
                    run(count, i, synapse_ids, neurons, synapses, variables, block)

    @njit
    def visit_rows(synapses: Any, variables: Any, ids: Any, columns: Any, low: Any, high: Any) -> None:
        block, room = empty(synapses)
        visit(synapses, variables, ids, columns, low, high, block, room[0], room[1])

    return visit_rows


def visiting(visit_rows: Any, large: bool, turned: bool) -> Any:
    """Return the function that visits all entries of active rows, on one thread or on all; `turned`: columns.

    It takes all threads if there are entries enough: no two rows share one.
    """

    # Inlined, since only the parallel regions of a kernel itself are entered without the GIL.
    @njit(inline="always" if large else "never")
    def visit(synapses: Any, spikes: Any, variables: Any) -> None:
        ids = listed_ids(spikes)
        if ids.size:
            other = synapses[0].size // spikes.size
            # Where columns are active, every row has entries to visit.
            rows, columns = (other, spikes.size) if turned else (ids.size, other)
            if not large or ids.size * other < MIN_PARALLEL:
                visit_rows(synapses, variables, ids, columns, 0, rows)
            else:
                parts = num_threads()
                for part in prange(parts):
                    low, high = rows * part // parts, rows * (part + 1) // parts
                    visit_rows(synapses, variables, ids, columns, low, high)

    return visit
