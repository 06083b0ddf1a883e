"""Bars of ratios, which start at the limit, 1, on a logarithmic axis; bars of amounts, which start at 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from event_ops_harness.report.figures import duration, ratio
from event_ops_harness.report.rows import Group, Timing
from event_ops_harness.report.svg.drawing import bar, drawing, line, text
from event_ops_harness.report.svg.scale import LogScale

ROW = 30
BAR = 7


@dataclass(frozen=True)
class Amount:
    """A figure from 0 on, in words too."""

    name: str
    value: float
    text: str
    ours: bool


def ratio_scale(groups: Sequence[Group]) -> LogScale:
    """One axis for all bars of these groups."""
    return LogScale.around([t.ratio for group in groups for t in group.timings], 0.8, 2.0)


def ratio_bars(group: Group, scale: LogScale) -> Markup:
    """A bar per rival, fastest first; the baseline has none."""
    ordered = sorted(group.timings, key=lambda t: t.ratio)
    height = ROW * len(ordered) + 2
    label = f"{group.name}: times as long as {group.baseline.rival}"
    parts: list[Markup] = []
    for position, timing in enumerate(ordered):
        parts += _row(timing, timing is group.baseline, scale, position * ROW)
    return drawing(label, height, parts)


def amount_bars(label: str, amounts: Sequence[Amount], limit: float = 0.0) -> Markup:
    """A bar per amount; what is not above 0 has none. The line is at `limit`."""
    most = max([amount.value for amount in amounts] + [limit * 1.02, 1e-9])
    at = 100 * limit / most
    parts: list[Markup] = []
    for position, amount in enumerate(amounts):
        top, kind = position * ROW, "ours" if amount.ours else "rival"
        end, title = 100 * max(amount.value, 0.0) / most, f"{amount.name}: {amount.text}"
        parts += [
            text(0, top + 12, amount.name, f"name {kind}"),
            text(100, top + 12, amount.text, "value", "end"),
            bar(0, end, top + 17, BAR, f"bar {kind}", title),
            line(at, top + 15, at, top + 26, "limit"),
        ]
    return drawing(label, ROW * len(amounts) + 2, parts)


def _row(timing: Timing, baseline: bool, scale: LogScale, top: float) -> list[Markup]:
    kind = "ours" if timing.ours and (baseline or not timing.reference) else "rival"
    title = f"{timing.rival}: {ratio(timing.ratio)}, {duration(timing.us)}"
    limit, end = scale.at(1.0), scale.at(timing.ratio)
    shown = "= 1" if baseline else ratio(timing.ratio)
    return [
        text(0, top + 12, timing.rival, f"name {kind}"),
        text(100, top + 12, f"{duration(timing.us)}  {shown}", "value", "end"),
        bar(limit, end, top + 17, BAR, f"bar {kind}", title),
        line(limit, top + 15, limit, top + 26, "limit"),
    ]
