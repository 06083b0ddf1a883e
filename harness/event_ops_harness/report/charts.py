"""What a benchmark's rows allow of charts: strips of many cases, curves, bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from event_ops_harness.report import comparisons, curves
from event_ops_harness.report.figures import number, percent, positive, ratio, short
from event_ops_harness.report.rows import Group, is_ours
from event_ops_harness.report.svg.bars import Amount, amount_bars, ratio_bars, ratio_scale
from event_ops_harness.report.svg.lines import key, lines
from event_ops_harness.report.svg.strips import strips

AMOUNT: Final = "bytes_per_synapse"
TRIAD: Final = "STREAM triad"  # the group that measures the memory, not one of our operators

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Chart:
    """A drawing with its title, a remark, and (mark, name, exponent) of each curve."""

    title: str
    remark: str
    drawing: Markup
    legend: tuple[tuple[Markup, str, str], ...] = ()


def overview(groups: Sequence[Group]) -> list[Chart]:
    """A strip per operator: the fastest rival's ratio, and the share of the memory's bandwidth."""
    fastest, shares = comparisons.fastest_rivals(groups), comparisons.shares(groups)
    found: list[Chart] = []
    if fastest:
        remark = (
            "Its time over ours: right of the line it is slower. A dot is a case, the figure their median."
        )
        label = "The fastest rival's time over ours, by operator, logarithmic"
        found.append(Chart("The fastest rival", remark, strips(label, fastest, ratio, "ours", "behind")))
    if shares:
        remark = (
            "Bytes that must move, over what streaming through memory (a triad, a copy) moves in that time. "
            "Above 100% a case fits a cache."
        )
        label = "Share of the memory's bandwidth, by operator, logarithmic"
        drawing = strips(label, shares, percent, "ours", "ours")
        found.append(Chart("Share of the memory bandwidth", remark, drawing))
    return found


def efficiencies(rows: Sequence[Row]) -> list[Chart]:
    """A bar per group: the efficiency of several threads, with a line at 1."""
    found: list[Amount] = []
    for row in rows:
        value = positive(row, "efficiency")
        if value is not None and (number(row, "threads") or 0) > 1:
            ours = row.get("group") != TRIAD
            text = f"{row.get('rival')}  {percent(value)}"
            found.append(Amount(str(row.get("group")), value, text, ours))
    if not found:
        return []
    remark = "The time of one thread over that of all, as a share of how many there are. The line is at 100%."
    return [Chart("Efficiency", remark, amount_bars("Efficiency of several threads", found, limit=1.0))]


def scaling(rows: Sequence[Row], fits: Sequence[Row]) -> list[Chart]:
    """Curves; `fits` hold the exponents."""
    return [
        Chart(
            found.title if found.title else f"By {found.axis}",
            f"Time against {found.axis}; both axes are logarithmic.",
            lines(found),
            tuple((key(i), series.name, series.exponent) for i, series in enumerate(found.series)),
        )
        for found in curves.curves(rows, fits)
    ]


def bars(groups: Sequence[Group], *, short_titles: bool = False) -> list[Chart]:
    """A chart per group, all on one axis; its title is the case alone where `short_titles`."""
    scale = ratio_scale(groups)
    return [
        Chart(
            comparisons.case(group) if short_titles else group.name,
            f"Times as long as {group.baseline.rival}",
            ratio_bars(group, scale),
        )
        for group in groups
    ]


def amounts(rows: Sequence[Row]) -> list[Chart]:
    """A chart per group of memory per synapse."""
    by_group: dict[str, list[Amount]] = {}
    for row in rows:
        value, name = number(row, AMOUNT), str(row.get("rival") or "")
        if value is not None:
            amount = Amount(name, value, f"{short(round(value, 2) + 0.0)} B", is_ours(row, name))
            by_group.setdefault(str(row.get("group")), []).append(amount)
    return [
        Chart(
            group, "Bytes per synapse", amount_bars(f"{group}: bytes per synapse", sorted(found, key=_value))
        )
        for group, found in by_group.items()
    ]


def _value(amount: Amount) -> float:
    return amount.value
