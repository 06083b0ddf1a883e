"""Describe `adex_step` to benchmarks."""

from __future__ import annotations

from event_ops.cases.bench import Bench, Call, Outs


def operations(call: Call, outs: Outs) -> int:
    """Count those of every substep, of held neurons, too, whose V alone does not move, and of the step.

    In a substep two conductances decay. Twice, V is bounded (1) and gives the currents (13, of which the
    exponential takes 3) and, times the rate, a change of V and of w (1 and 4); w and V move once to the end
    (2) and then by the mean of two changes (6), and V is compared with the peak.
    """
    return outs[0].size * (2 + getattr(call, "substeps", 10) * (2 + 2 * 19 + 9))


BENCH = Bench(carried={i: i for i in range(5)}, operations=operations)
