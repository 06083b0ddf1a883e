"""Describe `hh_cond_exp_step` to benchmarks."""

from __future__ import annotations

from event_ops.cases.bench import Bench, Call, Outs


def operations(call: Call, outs: Outs) -> int:
    """Count those of every substep, and the comparisons of the step.

    In a substep two conductances decay. Twice, the gates move: six rates (4 each, 2 more for the two whose
    exponential is divided by or into), and for each gate where it moves to and how far (9). V takes the
    conductances of two channels (8), and moves as in `lif_cond_exp_step` (14, and 6 for the channels).
    """
    return outs[0].size * (5 + getattr(call, "substeps", 4) * (2 + 2 * (6 * 5 + 3 * 9) + 8 + 20))


BENCH = Bench(carried={i: i for i in range(7)}, operations=operations)
