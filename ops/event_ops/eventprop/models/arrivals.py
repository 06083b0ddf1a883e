"""The arrivals of a step: dense rows arrive at all neurons, entries at one neuron each."""

from typing import Any

import numpy as np

from event_ops.eventprop.arrivals import Chains, Sample
from event_ops.eventprop.entries import (
    Entries,
    Passages,
    Table,
    all_passages,
    arriving,
    arriving_again,
    new_kept,
    new_table,
)
from event_ops.eventprop.rows import Arrivals, Rows, collect, new_arrivals
from event_ops.kernels.numba_cpu.jit import njit

# Of rows and of entries alike, `begin` and `begin_back` return what is kept, forwards and backwards. From it
# `arrive` and `again` return the arrivals of step k at all neurons, how many they are, and those at one.


@njit
def begin_rows(rows: Rows, chains: Chains, sample: Sample, neurons: int, dt: float) -> Any:
    """Return room for the arrivals of a step, and the table of none."""
    return new_arrivals(chains.following.size, rows.weights), new_table(np.int64(0), neurons)


@njit
def arrive_rows(
    rows: Rows, kept: Any, chains: Chains, sample: Sample, neurons: int, k: int, dt: float
) -> Any:
    """Return the arrivals of rows."""
    arrivals, table = kept
    return arrivals, collect(chains, sample, k, rows.first, dt, arrivals), table


@njit
def begin_entries(entries: Entries, chains: Chains, sample: Sample, neurons: int, dt: float) -> Any:
    """Return room for the spikes that are under way, and for no arrivals at all neurons."""
    return new_kept(chains.following.size), new_arrivals(np.int64(0), entries.weights)


@njit
def arrive_entries(
    entries: Entries, kept: Any, chains: Chains, sample: Sample, neurons: int, k: int, dt: float
) -> Any:
    """Return the arrivals of entries, as spikes pass them."""
    under_way, arrivals = kept
    return arrivals, np.int64(0), arriving(entries, under_way, chains, sample, neurons, k, dt)[0]


@njit
def begin_entries_back(
    entries: Entries, chains: Chains, sample: Sample, neurons: int, dt: float
) -> tuple[Passages, Arrivals]:
    """Return which entries spikes pass in all steps, and room for no arrivals at all neurons."""
    return all_passages(entries, chains, sample, dt), new_arrivals(np.int64(0), entries.weights)


@njit
def entries_again(
    entries: Entries, kept: Any, chains: Chains, sample: Sample, neurons: int, k: int, dt: float
) -> tuple[Arrivals, Any, Table]:
    """Return the arrivals of entries, in any order of steps."""
    passages, arrivals = kept
    return arrivals, np.int64(0), arriving_again(entries, passages, sample, neurons, k, dt)[0]


OF_ROWS = begin_rows, arrive_rows, begin_rows, arrive_rows
OF_ENTRIES = begin_entries, arrive_entries, begin_entries_back, entries_again
