"""Describe `csr_event_arrivals` to benchmarks."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from event_ops.cases.bench import Bench, Call, Outs, each, initial_sums, rows_of, size
from event_ops.parts.reference.history import lagged


def _moved(call: Call, outs: Outs) -> int:
    """Count the history, lists only as far as they are filled, the rows of what was active, and the sums."""
    history, slot = map(jnp.asarray, (call.history, call.slot))
    active = np.asarray(lagged(history, slot, call.shape[0], call.data.dtype)) != 0
    lists = history.dtype == jnp.int32
    looked_at = int(active.sum()) * each(call.history) if lists else size(call.history)
    around = looked_at + size(*outs) + initial_sums(call, outs)
    return around + rows_of(call.indptr, active, call.data, call.indices)


BENCH = Bench(moved=_moved)
