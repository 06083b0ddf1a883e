"""Describe `csr_event_deliver` to benchmarks."""

from __future__ import annotations

from event_ops.cases.bench import Bench, Call, Outs, active_flags, each, entries_of, rows_of, size


def _moved(call: Call, outs: Outs) -> int:
    """Count the places of the buffer where something arrives, read and written; at most all of it."""
    active = active_flags(call.spikes, call.shape[0])
    reached = min(entries_of(call.indptr, active), call.buffer.size)
    matrix = rows_of(call.indptr, active, call.data, call.indices, call.delays)
    return size(call.spikes) + matrix + 2 * reached * each(call.buffer)


BENCH = Bench(carried={0: 0}, moved=_moved)
