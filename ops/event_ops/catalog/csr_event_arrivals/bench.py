"""Describe `csr_event_arrivals` to benchmarks."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from event_ops.cases.bench import Bench, Call, Outs, initial_sums, rows_of, size
from event_ops.cases.operations import each_term, terms
from event_ops.kernels.reference.history import lagged


def _moved(call: Call, outs: Outs) -> int:
    """Count the history, lists only as far as they are filled, the rows of what was active, and the sums."""
    active = _events(call) != 0
    lists = call.history.dtype == np.int32
    looked_at = int(active.sum()) * call.history.itemsize if lists else size(call.history)
    around = looked_at + size(*outs) + initial_sums(call, outs)
    return around + rows_of(call.indptr, active, call.data, call.indices)


def _operations(call: Call, outs: Outs) -> int:
    """Count `each_term` for the entries of rows of active events; an id that occurs twice is two of them."""
    events = _events(call)
    counts = events.astype(np.int64) if call.history.dtype == np.int32 else events != 0
    each = each_term(call.history, getattr(call, "encoding", "flags"))
    return each * terms(counts, call.indices, call.indptr, call.shape[1])


def _events(call: Call) -> np.ndarray:
    """Return one event for each row of the matrix; of spike ids, how often each occurs."""
    history, slot = map(jnp.asarray, (call.history, call.slot))
    return np.asarray(lagged(history, slot, call.shape[0], call.data.dtype))


BENCH = Bench(moved=_moved, operations=_operations)
