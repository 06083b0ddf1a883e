"""The division of a run on a GPU: blocks and threads, turns and barriers, and who adds which entries."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from event_ops.checks.packed_entries import are_narrow
from event_ops.kernels.numba_cuda.threads import WARP
from event_ops.network.cuda.pulled import are_few, dtypes_of
from event_ops.network.plan import Plan
from event_ops.network.projections import Projection
from ffi_bridge.cuda.driver import cuda_driver

_MOST_STEPS: Final = 16  # of a turn
_WORDS: Final = 4  # of a block, at least, where there are more blocks
_MOST_THREADS: Final = 768  # more would have too few registers


class Rows(NamedTuple):
    """Hold the rows of a projection, or of one part of its matrix: an item of each spike.

    Args:
        sums: the place of the sums that they are added to.
        projection: its place; source: the population that sends.
        part: of a matrix in words, or -1 for a CSR matrix; narrow: whether words have 16 bits.
        delays: whether there is a row for each delay.
    """

    sums: int
    projection: int
    source: int
    part: int
    narrow: bool
    delays: bool


class Launch(NamedTuple):
    """Hold the blocks of a run and their threads, all of which a GPU holds at once."""

    blocks: int
    threads: int


class How(NamedTuple):
    """Hold how a run goes.

    Args:
        threads: of a block.
        two: whether a turn has two barriers.
        resident: whether a warp has one word only.
        wide: whether there are so many entries that those of a turn are counted in 64 bits.
        pulled: where each warp adds the entries onto its own neurons, the dtype of each sums, or "".
    """

    threads: int
    two: bool
    resident: bool
    wide: bool = False
    pulled: tuple[str, ...] = ()


def launch_for(words: int) -> Launch:
    """Return the launch for a number of words of bits: a warp for each, as far as a block has threads."""
    blocks = min(cuda_driver().multiprocessors, max(1, words // _WORDS))
    return Launch(blocks, min(max(-(-words // blocks), _WORDS) * WARP, _MOST_THREADS))


def timing(plan: Plan, projections: Sequence[Projection]) -> tuple[int, int, bool]:
    """Return the slots of the rings, the steps of a turn, and whether it has two barriers.

    What a spike adds is read d steps later, or d + 1 for states. A turn of n steps delivers the spikes of the
    turn before: where all is read 2 n steps later or more, the neurons need not wait for it. Weights that
    learn are read in the step in which a spike arrives.
    """
    parts = [(projections[q], int(plan.is_state(x))) for x in plan.sums for q, _, _ in x.projections]
    least = min((part.min_delay + behind for part, behind in parts), default=2 * _MOST_STEPS)
    slots = max((max(part.ages) + behind for part, behind in parts), default=1)
    if plan.learning:
        return max(slots, 1), 1, True
    return max(slots, 1), max(1, min(least // 2, _MOST_STEPS)), least < 2


def rows_of(plan: Plan, arrays: dict[str, Any]) -> tuple[Rows, ...]:
    """Return the rows of all projections that do not learn, each part of a matrix by itself."""
    rows, learning = [], {part.projection for part in plan.learning}
    for k, sums in enumerate(plan.sums):
        for q, source, count in sums.projections:
            if q in learning:
                continue
            parts = range(arrays[f"matrix{q}_1"].shape[0]) if count == 4 else [-1]
            narrow = count == 4 and are_narrow(arrays[f"matrix{q}_0"])
            delays = arrays[f"ages{q}"].size > 1
            rows += [Rows(k, q, source, part, narrow, delays) for part in parts]
    return tuple(rows)


def how_of(
    plan: Plan, arrays: dict[str, Any], projections: Sequence[Projection], launch: Launch, words: int
) -> How:
    """Return how a run goes, by the number of words that its neurons have.

    Where a spike acts in its own step, entries are pulled if they are few: then blocks need not wait for each
    other's sums.
    """
    slots, span, two = timing(plan, projections)
    used = [(x, q, count) for x in plan.sums for q, _, count in x.projections]
    entries = sum(arrays[f"matrix{q}_{1 if count == 3 else 0}"].size for _, q, count in used)
    resident = span == 1 and -(-words // launch.blocks) <= launch.threads // WARP
    wide = entries * span > np.iinfo(np.int32).max
    is_pulled = two and not plan.learning and slots == 1 and resident and are_few(projections)
    pulled = dtypes_of(plan, projections) if is_pulled else ()
    return How(launch.threads, two, resident, wide, pulled)
