"""Describe `stp_step` to benchmarks."""

import numpy as np

from event_ops.cases.bench import Bench, Call, Outs


def _operations(call: Call, outs: Outs) -> int:
    """Count four for each synapse, which recovers and fades, and six for a spike."""
    return 4 * call.x.size + 6 * int(np.count_nonzero(call.spikes))


BENCH = Bench(carried={0: 0, 1: 1}, operations=_operations)
