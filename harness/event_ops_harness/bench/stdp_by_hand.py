"""Pair-based STDP as hand-written kernels, the baseline of kernels made of a rule."""

from functools import cache
from typing import Any

import jax
import numpy as np

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at, weighted
from event_ops.kernels.numba_cpu.blocks import AT_ONCE
from event_ops.kernels.numba_cpu.deliver import MIN_ENTRIES_PARALLEL
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.sparse_visits import (
    entry,
    is_stored,
    prefetch_entries,
    prefetch_weights,
    visiting,
)
from ffi_bridge import numba_kernel


@njit
def bounded(value: Any, low: Any, high: Any) -> Any:
    """Return the nearest value in [low, high]; NaN stays NaN."""
    above = low if value < low else value
    return high if above > high else above


@njit
def move_rows(
    synapses: Any, indices: Any, indptr: Any, places: Any, columns: Any, variables: Any, ids: Any
) -> None:
    """w[k] += amount * event[i] * x[j], within the bounds, for each entry of the rows `ids`."""
    (w,) = synapses
    events, x, amount, lowest, highest = variables
    # Unsigned: for signed indices Numba compiles the wrapping of negative ones.
    nse, (_, size) = np.uintp(indices.size), columns  # those of a whole matrix
    for position in range(np.uintp(ids.size)):
        prefetch_entries(w, indices, indptr, places, ids, position)
        i = np.uintp(ids[position])
        event = events[i]
        begin, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)
        for first in range(begin, end, AT_ONCE):
            later = min(first + AT_ONCE, end)
            prefetch_weights(w, places, later, end)
            for p in range(first, later):
                j, k = np.uintp(indices[p]), entry(places, p)
                if j < size and is_stored(places, k, nse):
                    step = weighted(at(amount, k), event)
                    w[k] = bounded(w[k] + step * x[j], at(lowest, k), at(highest, k))


@cache
def along_rows(large: bool) -> Any:
    """Return the kernel for spikes of rows, whose output is the memory of w; large: on all threads."""
    visit = visiting(move_rows, large)

    @njit(parallel=large)
    def kernel(
        w: Any, indices: Any, indptr: Any, spikes: Any, x: Any, amount: Any, low: Any, high: Any, y: Any
    ) -> None:
        variables = spikes, x, amount[()], low[()], high[()]
        visit((y,), indices, indptr, None, spikes, x.size, variables)

    return kernel


@cache
def along_columns(large: bool) -> Any:
    """Return the kernel for spikes of columns."""
    visit = visiting(move_rows, large)

    @njit(parallel=large)
    def kernel(
        w: Any, rows: Any, indptr: Any, places: Any, spikes: Any, x: Any, amount: Any, low: Any, high: Any,
        y: Any,
    ) -> None:  # fmt: skip
        variables = spikes, x, amount[()], low[()], high[()]
        visit((y,), rows, indptr, places, spikes, x.size, variables)

    return kernel


def _moved(kernel: Any, amount: float, w_min: float, w_max: float, w: Any, *others: Any) -> jax.Array:
    function = kernel(reaches(w.size, MIN_ENTRIES_PARALLEL))
    rule = (w.dtype.type(x) for x in (amount, w_min, w_max))
    out = jax.ShapeDtypeStruct(w.shape, w.dtype)
    return numba_kernel(function, out, input_output_aliases={0: 0})(w, *others, *rule)


def on_pre(*arrays: Any, A_minus: float, w_min: float, w_max: float, **_: Any) -> jax.Array:
    """Call the kernel as `stdp_on_pre` is called."""
    return _moved(along_rows, -A_minus, w_min, w_max, *arrays)


def on_post(*arrays: Any, A_plus: float, w_min: float, w_max: float, **_: Any) -> jax.Array:
    """Call the kernel as `stdp_on_post` is called."""
    return _moved(along_columns, A_plus, w_min, w_max, *arrays)
