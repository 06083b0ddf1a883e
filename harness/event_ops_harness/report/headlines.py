"""The headlines of the page: one figure each of conformance, the catalog, a call and a whole network."""

from __future__ import annotations

import statistics
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


def headlines(matrix: Matrix | None, groups: dict[str, list[Group]]) -> list[Headline]:
    """Return the headlines that the inputs allow; `groups` by benchmark."""
    found = [
        _conformance(matrix),
        _catalog(groups.get("catalog", [])),
        _call(groups.get("call", [])),
        _cuba(groups.get("cuba", [])),
    ]
    return [headline for headline in found if headline is not None]


def _conformance(matrix: Matrix | None) -> Headline:
    if matrix is None:
        return Headline("–", "conformance checks", f"{COMMANDS[MATRIX]} runs them", "conformance")
    totals = matrix.totals
    note = f"{totals[FAILED]:,} failed, {totals[SKIPPED]:,} skipped with a reason"
    label = f"conformance checks passed, {matrix.operators} operators"
    return Headline(f"{totals[PASSED]:,}", label, note, "conformance", totals[FAILED] > 0)


def _catalog(groups: list[Group]) -> Headline | None:
    ratios = [point.value for points in rows.fastest_rivals(groups).values() for point in points]
    if not ratios:
        return None
    ahead = sum(value >= 1 for value in ratios)
    note = f"in the median the fastest rival takes {ratio(statistics.median(ratios))} as long"
    return Headline(f"{ahead} of {len(ratios)}", "cases in which no rival is faster", note, "catalog")


def _call(groups: list[Group]) -> Headline | None:
    pairs = [(ours, group) for group in groups for ours in group.ours if group.rivals]
    if not pairs:
        return None
    ours, group = min(pairs, key=lambda pair: pair[0].us)
    slowest = max(group.rivals, key=lambda t: t.us)
    note = f"{slowest.rival}: {duration(slowest.us)}; {group.baseline.rival}: {duration(group.baseline.us)}"
    return Headline(duration(ours.us), f"{ours.rival}: one {group.name}", note, "call")


def _cuba(groups: list[Group]) -> Headline | None:
    ratios = [
        group.baseline.ratio / t.ratio
        for group in groups
        if not group.baseline.ours
        for t in group.timings
        if t.ours
    ]
    if not ratios:
        return None
    rival = groups[0].baseline.rival
    sizes = f"CUBA network, {groups[0].name} to {groups[-1].name}" if len(groups) > 1 else groups[0].name
    return Headline(f"{span(ratios)}×", f"our time: {rival}", sizes, "cuba")
