"""The charts that a benchmark's groups allow: strips of many cases, curves, bars."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from event_ops_harness.report import rows, svg
from event_ops_harness.report.figures import number, percent, positive, ratio, short
from event_ops_harness.report.rows import Group, Timing
from event_ops_harness.report.svg import Amount, Curves, Series

AMOUNT: Final = "bytes_per_synapse"
_LEAST: Final = 3  # sizes that make a curve


@dataclass(frozen=True)
class Chart:
    """Hold a drawing with its title, a remark, and (mark, name, exponent) of each curve."""

    title: str
    remark: str
    drawing: Markup
    legend: tuple[tuple[Markup, str, str], ...] = ()


def overview(groups: Sequence[Group]) -> list[Chart]:
    """Draw a strip per operator: the fastest rival's ratio, and the share of the memory's bandwidth."""
    fastest, shares = (rows.points(groups, of) for of in (rows.fastest_rival, rows.share))
    found: list[Chart] = []
    if fastest:
        remark = (
            "Its time over ours: right of the line it is slower. A dot is a case, the figure their median."
        )
        label = "The fastest rival's time over ours, by operator, logarithmic"
        found.append(Chart("The fastest rival", remark, svg.strips(label, fastest, ratio, "behind")))
    if shares:
        remark = (
            "Bytes that must move, over what streaming through memory (a triad, a copy) moves in that time. "
            "Above 100% a case fits a cache."
        )
        label = "Share of the memory's bandwidth, by operator, logarithmic"
        drawing = svg.strips(label, shares, percent, "ours")
        found.append(Chart("Share of the memory bandwidth", remark, drawing))
    return found


def bars(groups: Sequence[Group], *, short_titles: bool = False) -> list[Chart]:
    """Draw a chart per group, all on one axis; its title is the case alone where `short_titles`."""
    scale = svg.ratio_scale(groups)
    return [
        Chart(
            group.case if short_titles else group.name,
            f"Times as long as {group.baseline.name}",
            svg.ratio_bars(group, scale),
        )
        for group in groups
    ]


def efficiencies(groups: Iterable[Group]) -> list[Chart]:
    """Draw a bar per group: the efficiency of several threads, with a line at 1."""
    found = [
        Amount(group.name, value, f"{timing.name}  {percent(value)}", timing.ours)
        for group in groups
        for timing in group.timings
        if (value := positive(timing.more, "efficiency")) and (number(timing.more, "threads") or 0) > 1
    ]
    if not found:
        return []
    remark = "The time of one thread over that of all, as a share of how many there are. The line is at 100%."
    drawing = svg.amount_bars("Efficiency of several threads", found, limit=1.0)
    return [Chart("Efficiency", remark, drawing)]


def amounts(groups: Iterable[Group]) -> list[Chart]:
    """Draw a chart per group of memory per synapse."""
    found: list[Chart] = []
    for group in groups:
        members = [
            Amount(timing.name, value, f"{short(round(value, 2) + 0.0)} B", timing.ours)
            for timing in group.timings
            if (value := number(timing.more, AMOUNT)) is not None
        ]
        if members:
            ordered = sorted(members, key=lambda amount: amount.value)
            drawing = svg.amount_bars(f"{group.name}: bytes per synapse", ordered)
            found.append(Chart(group.name, "Bytes per synapse", drawing))
    return found


def scaling(groups: Iterable[Group]) -> list[Chart]:
    """Draw time against size, a chart per series."""
    return [
        Chart(
            found.title,
            f"Time against {found.axis}; both axes are logarithmic.",
            svg.lines(found),
            tuple((svg.key(i), series.name, series.exponent) for i, series in enumerate(found.series)),
        )
        for found in curves(groups)
    ]


def curves(groups: Iterable[Group]) -> list[Curves]:
    """Find series that were measured at enough sizes: a chart per series, a curve per member."""
    found: dict[str, dict[str, dict[float, Timing]]] = {}
    for timing in (timing for group in groups for timing in group.timings):
        title, size = timing.more.get("series"), positive(timing.more, "size")
        if title and size is not None:
            found.setdefault(str(title), {}).setdefault(timing.name, {})[size] = timing
    charts = (_curves(title, members) for title, members in found.items())
    return [chart for chart in charts if chart.series]


def _curves(title: str, members: dict[str, dict[float, Timing]]) -> Curves:
    series = (_curve(name, sizes) for name, sizes in members.items() if len(sizes) >= _LEAST)
    return Curves(title, title.partition(" by ")[2] or "size", tuple(series))


def _curve(name: str, sizes: dict[float, Timing]) -> Series:
    """Return times by size, and the exponent, which the largest size has."""
    points = tuple((size, sizes[size].us) for size in sorted(sizes))
    told = sizes[max(sizes)].more
    exponent, error = number(told, "exponent"), number(told, "error")
    words = "" if exponent is None else f"exponent {exponent:.2f}"
    return Series(name, points, words + (f" ± {error:.2f}" if words and error is not None else ""))
