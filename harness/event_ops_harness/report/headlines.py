"""The headlines of the page: one figure each of conformance, the catalog, a call and a whole network."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from event_ops_harness.report import rows
from event_ops_harness.report.conformance import Matrix
from event_ops_harness.report.figures import duration, ratio, span
from event_ops_harness.report.inputs import COMMANDS, MATRIX
from event_ops_harness.report.rows import Group
from event_ops_harness.statuses import FAILED, PASSED, SKIPPED


@dataclass(frozen=True)
class Headline:
    """Hold a figure, what it is, a note beside it, and the id of its section."""

    figure: str
    label: str
    note: str
    target: str
    bad: bool = False


def headlines(matrix: Matrix | None, groups: Mapping[str, Sequence[Group]]) -> list[Headline]:
    """Return the headlines that the inputs allow; `groups` by benchmark."""
    makers = {"catalog": _catalog, "call": _call, "cuba": _cuba}
    beside = {name: [g for g in rows.compared(groups.get(name, ())) if g.rivals] for name in makers}
    return [_conformance(matrix), *(makers[name](found) for name, found in beside.items() if found)]


def _conformance(matrix: Matrix | None) -> Headline:
    if matrix is None:
        return Headline("–", "conformance checks", f"{COMMANDS[MATRIX]} runs them", "conformance")
    totals = matrix.totals
    note = f"{totals[FAILED]:,} failed, {totals[SKIPPED]:,} skipped with a reason"
    label = f"conformance checks passed, {matrix.operators} operators"
    return Headline(f"{totals[PASSED]:,}", label, note, "conformance", totals[FAILED] > 0)


def _catalog(groups: Sequence[Group]) -> Headline:
    ratios = _ratios(groups)
    ahead = sum(value >= 1 for value in ratios)
    note = f"in the median the fastest rival takes {ratio(statistics.median(ratios))} as long"
    return Headline(f"{ahead} of {len(ratios)}", "cases in which no rival is faster", note, "catalog")


def _call(groups: Sequence[Group]) -> Headline:
    group = min(groups, key=lambda group: group.baseline.us)
    ordered = sorted(group.rivals, key=lambda t: -t.us)
    note = "; ".join(f"{t.name}: {duration(t.us)}" for t in dict.fromkeys((ordered[0], ordered[-1])))
    ours = group.baseline
    return Headline(duration(ours.us), f"{ours.name}: one {group.name}", note, "call")


def _cuba(groups: Sequence[Group]) -> Headline:
    sizes = " to ".join(dict.fromkeys((groups[0].name, groups[-1].name)))
    label = "the fastest other simulator's time over ours"
    return Headline(f"{span(_ratios(groups))}×", label, f"CUBA network, {sizes}", "cuba")


def _ratios(groups: Sequence[Group]) -> list[float]:
    return [p.value for points in rows.points(groups, rows.fastest_rival).values() for p in points]
