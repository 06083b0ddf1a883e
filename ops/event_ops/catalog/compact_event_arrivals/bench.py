"""Describe `compact_event_arrivals` to benchmarks."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from event_ops.cases.bench import Bench, Call, Outs, initial_sums, rows_of, size
from event_ops.cases.operations import each_term
from event_ops.kernels.reference.history import lagged


def _moved(call: Call, outs: Outs) -> int:
    """Count the history, lists only as far as they are filled, the rows of what was active, and the sums."""
    active = _active(call)
    lists = call.history.dtype == np.int32
    looked_at = int(active.sum()) * call.history.itemsize if lists else size(call.history)
    ends = np.reshape(call.indptr, (-1, active.size + 1))
    rows = sum(rows_of(part, active, call.entries) for part in ends)
    return looked_at + size(*outs) + initial_sums(call, outs) + rows


def _operations(call: Call, outs: Outs) -> int:
    """Count `each_term` for the words of rows of active events."""
    counts = np.diff(np.reshape(call.indptr, (-1, _active(call).size + 1))).sum(axis=0)
    each = each_term(call.history, getattr(call, "encoding", "flags"))
    return int(each * counts[_active(call)].sum())


def _active(call: Call) -> np.ndarray:
    """Return a flag for each neuron and delay."""
    history, slot = map(jnp.asarray, (call.history, call.slot))
    return np.asarray(lagged(history, slot, call.shape[0], np.float32)) != 0


BENCH = Bench(moved=_moved, operations=_operations)
