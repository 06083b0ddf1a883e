"""The arrivals of a step: dense rows arrive at all neurons, entries at one neuron each."""

from typing import Any

import numpy as np

from event_ops.eventprop.arrivals import Chains, Sample
from event_ops.eventprop.entries import (
    Entries,
    Kept,
    Passages,
    Table,
    UnderWay,
    all_passages,
    fill,
    joined,
    new_table,
    new_under_way,
    passed,
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
    under_way = new_under_way(chains.following.size)
    return Kept(under_way, np.zeros(1, np.int64)), new_arrivals(np.int64(0), entries.weights)


@njit
def arrive_entries(
    entries: Entries, kept: Any, chains: Chains, sample: Sample, neurons: int, k: int, dt: float
) -> Any:
    """Return the arrivals of entries, as spikes pass them."""
    (under_way, number), arrivals = kept
    count = joined(chains, k, sample, entries, under_way, number[0])
    number[0], total = passed(entries, sample, under_way, count, (k + 1) * dt)
    table = new_table(total, neurons)
    fill(table, entries, sample, under_way, number[0], k, dt)
    return arrivals, np.int64(0), table


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
    low, high = passages.starts[k], passages.starts[k + 1]
    under_way = UnderWay(passages.spikes[low:high], passages.begin[low:high], passages.end[low:high])
    table = new_table((under_way.end - under_way.begin).sum(), neurons)
    fill(table, entries, sample, under_way, high - low, k, dt)
    return arrivals, np.int64(0), table


OF_ROWS = begin_rows, arrive_rows, begin_rows, arrive_rows
OF_ENTRIES = begin_entries, arrive_entries, begin_entries_back, entries_again
