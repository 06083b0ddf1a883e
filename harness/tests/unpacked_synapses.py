"""The synapses of the microcircuit, a value for each: from whom, onto whom, how strong, how late."""

import numpy as np

from event_ops.checks.packed_entries import columns_in, equal_starts
from event_ops.kernels.reference.packed_entries import codes_in
from event_ops_harness.networks.microcircuit.connectivity import Synapses
from event_ops_harness.networks.microcircuit.rows import SLOTS


class Unpacked:
    """Hold synapses onto a number of targets; `rows` are source * SLOTS + delay, `data` weights in pA."""

    def __init__(self, packed: Synapses, targets: int) -> None:
        self.entries, self.indptr, self.scale = packed
        self.synapses, self.nbytes = int(self.indptr[-1, -1]), sum(x.nbytes for x in packed)
        self.starts = equal_starts(targets, len(self.indptr))
        self.lengths = np.diff(self.indptr)
        rows = np.arange(self.lengths.shape[1], dtype=np.int32)
        self.rows = np.repeat(np.tile(rows, len(self.indptr)), self.lengths.reshape(-1))
        self.sources, delays = np.divmod(self.rows, SLOTS)
        self.delays = delays.astype(np.uint8)
        entries = self.entries[: self.synapses]
        first = np.repeat(self.starts[:-1], self.lengths.sum(axis=1))
        self.indices = columns_in(entries, targets).astype(np.int32) + first
        self.data = codes_in(entries, targets) * self.scale
        self.shape = rows.size // SLOTS, targets
