"""Where the default backend of an operator is not the fastest, and where a gradient costs too much."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from event_ops_harness.bench.gradients import TARGET, Gradient
from event_ops_harness.results import Row

WORST: Final = 1.1  # how many times the time of our fastest backend the default may take


def verdicts(rows: Sequence[Row], slopes: Sequence[Gradient]) -> list[str]:
    """One line per operator that misses a target, named by its worst case; empty where none does."""
    by_operator = groupby((row for row in rows if row.more["ours"]), key=lambda row: row.more["operator"])
    lines = [line for name, own in by_operator for line in _of_operator(name, list(own))]
    lines += [
        f"{slope.name}: value_and_grad takes {slope.ratio:.2f} x the time of value, target {TARGET}"
        for slope in slopes
        if slope.ratio > TARGET
    ]
    return lines


def _of_operator(operator: str, rows: Sequence[Row]) -> list[str]:
    slower = [_slowdown(list(case)) for _, case in groupby(rows, key=lambda row: row.group)]
    missed = [
        (ratio, default, best)
        for ratio, default, best in slower
        if ratio > WORST or (ratio > 1 and best.rival == "reference")
    ]
    if not missed:
        return []
    ratio, default, best = max(missed, key=lambda found: found[0])
    where = best.group.removeprefix(operator).strip()
    slow = f"{default.rival}, the default, takes {ratio:.2f} x the time of {best.rival} ({where})"
    return [f"{operator}: {slow}; {len(missed)} of {len(slower)} cases miss the target"]


def _slowdown(case: Sequence[Row]) -> tuple[float, Row, Row]:
    """The default's time over the best one's, the default and the best; the reference counts by itself."""
    default = next(row for row in case if row.rival == row.baseline)
    best = min(case, key=lambda row: row.seconds)
    reference = next((row for row in case if row.rival == "reference"), best)
    if default.seconds / best.seconds <= WORST and reference.seconds < default.seconds:
        best = reference
    return default.seconds / best.seconds, default, best
