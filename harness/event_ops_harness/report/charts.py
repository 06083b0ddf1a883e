"""The charts that a benchmark's groups allow, as numbers: strips of many cases, curves, bars.

`templates/charts.html` draws them as SVG, x in percent and y in pixels, for the style sheet to colour.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from event_ops_harness.report import rows
from event_ops_harness.report.figures import count, duration, number, percent, positive, ratio, short
from event_ops_harness.report.rows import Group, Point, Timing

AMOUNT: Final = "bytes_per_synapse"
_LEAST: Final = 3  # sizes that make a curve
CURVES: Final = 240  # the height of curves, above their axis
SHAPES: Final = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "M-3.5,-3.5h7v7h-7z",
    "M0,-5l5,5l-5,5l-5,-5z",
    "M0,-4.8l4.6,8h-9.2z",
    "M0,4.8l4.6,-8h-9.2z",
    "M-4,-1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z",
)


@dataclass(frozen=True)
class Chart:
    """Hold a chart for the macro `kind` of the template; `label` is its name where it cannot be seen."""

    kind: str
    title: str
    remark: str
    label: str
    rows: Sequence[Mapping[str, Any]]
    axes: Mapping[str, Any]


@dataclass(frozen=True)
class LogScale:
    """Map `low` to `start` and `high` to `end`, logarithmically; values outside are drawn at the end."""

    low: float
    high: float
    start: float = 0.0
    end: float = 100.0

    @classmethod
    def around(cls, values: Iterable[float], least: float, most: float, **ends: float) -> Self:
        """Span the values, and at least `least` to `most`."""
        spanned = [*values, least, most]
        low, high = min(spanned), max(spanned)
        # 3 % of room on both sides, so that no mark is cut off at the edge.
        return cls(low / (high / low) ** 0.03, high * (high / low) ** 0.03, **ends)

    def at(self, value: float) -> float:
        """Return where `value` lies, from `start` to `end`."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def ticks(self, most: int = 5) -> list[float]:
        """Return up to `most` round values: 1, 2, 5 over few decades, powers of ten over many."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        decades = [10.0**e for e in range(first, last + 1)]
        finer = [[m * decade for decade in decades for m in digits] for digits in ((1, 2, 5), (1, 3))]
        coarser = [[10.0**e for e in range(first, last + 1) if e % step == 0] for step in (1, 2, 3, 4)]
        inside = [[x for x in ticks if self.low <= x <= self.high] for ticks in finer + coarser]
        return next((ticks for ticks in inside if len(ticks) <= most), inside[-1])


def overview(groups: Sequence[Group]) -> list[Chart]:
    """Draw a strip per operator: the fastest rival's ratio, and the share of the memory's bandwidth."""
    fastest, shares = (rows.points(groups, of) for of in (rows.fastest_rival, rows.share))
    charts: list[Chart] = []
    if fastest:
        remark = (
            "Its time over ours: right of the line it is slower. A dot is a case, the figure their median."
        )
        label = "The fastest rival's time over ours, by operator, logarithmic"
        charts.append(Chart("strips", "The fastest rival", remark, label, *_strips(fastest, ratio, "behind")))
    if shares:
        remark = (
            "Bytes that must move, over what streaming through memory (a triad, a copy) moves in that time. "
            "Above 100% a case fits a cache."
        )
        label = "Share of the memory's bandwidth, by operator, logarithmic"
        strips = _strips(shares, percent, "ours")
        charts.append(Chart("strips", "Share of the memory bandwidth", remark, label, *strips))
    return charts


def _strips(
    rows: Mapping[str, Sequence[Point]], written: Callable[[float], str], below: str
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a line per operator with a dot per case, and their axis; dots `below` 1 have that class."""
    scale = LogScale.around([p.value for points in rows.values() for p in points], 0.5, 2.0, start=1, end=99)
    lines: list[dict[str, Any]] = []
    for name, points in rows.items():
        values = [point.value for point in points]
        dots = [(scale.at(p.value), "ours" if p.value >= 1 else below, f"{name} {p.text}") for p in points]
        ends = {"low": scale.at(min(values)), "high": scale.at(max(values))}
        lines.append({"name": name, "text": written(statistics.median(values)), "dots": dots, **ends})
    ticks = [(scale.at(tick), written(tick)) for tick in scale.ticks()]
    return lines, {"ticks": ticks, "limit": scale.at(1.0)}


def bars(groups: Sequence[Group], *, short_titles: bool = False) -> list[Chart]:
    """Draw a chart per group, all on one axis; its title is the case alone where `short_titles`.

    A bar per member, fastest first, begins at the limit, 1, where that of the group's first member ends, too.
    """
    scale = LogScale.around([g.ratio(t) for g in groups for t in g.timings], 0.8, 2.0)
    charts: list[Chart] = []
    for group in groups:
        remark = f"Times as long as {group.baseline.name}"
        drawn = [_ratio_bar(group, timing, scale) for timing in sorted(group.timings, key=lambda t: t.us)]
        title, label = group.case if short_titles else group.name, f"{group.name}: t{remark[1:]}"
        charts.append(Chart("bars", title, remark, label, drawn, {"limit": scale.at(1.0)}))
    return charts


def _ratio_bar(group: Group, timing: Timing, scale: LogScale) -> dict[str, Any]:
    value, time = group.ratio(timing), duration(timing.us)
    text = f"{time}  {'= 1' if timing is group.baseline else ratio(value)}"
    title = f"{timing.name}: {group.written_ratio(timing)}, {time}"
    return _bar(timing.name, text, title, timing not in group.rivals, scale.at(1.0), scale.at(value))


def _bar(name: str, text: str, title: str, ours: bool, *ends: float) -> dict[str, Any]:
    place = {"start": min(ends), "width": max(ends) - min(ends)}
    return {"name": name, "text": text, "title": title, "kind": "ours" if ours else "rival", **place}


def efficiencies(groups: Iterable[Group]) -> list[Chart]:
    """Draw a bar per group: the efficiency of several threads, with a line at 1."""
    named = [
        (group.name, value, f"{timing.name}  {percent(value)}", timing.ours)
        for group in groups
        for timing in group.timings
        if (value := positive(timing.more, "efficiency")) and (number(timing.more, "threads") or 0) > 1
    ]
    if not named:
        return []
    remark = "The time of one thread over that of all, as a share of how many there are. The line is at 100%."
    return [Chart("bars", "Efficiency", remark, "Efficiency of several threads", *_amounts(named, limit=1.0))]


def amounts(groups: Iterable[Group]) -> list[Chart]:
    """Draw a chart per group of memory per synapse."""
    charts: list[Chart] = []
    for group in groups:
        members = [
            # A slope may be -0.001, which is to be written 0, not -0.
            (timing.name, value, f"{short(round(value, 2) + 0.0)} B", timing.ours)
            for timing in group.timings
            if (value := number(timing.more, AMOUNT)) is not None
        ]
        if members:
            drawn = _amounts(sorted(members, key=lambda member: member[1]))
            charts.append(
                Chart("bars", group.name, "Bytes per synapse", f"{group.name}: bytes per synapse", *drawn)
            )
    return charts


def _amounts(
    members: Sequence[tuple[str, float, str, bool]], limit: float = 0.0
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a bar from 0 for each (name, value, value in words, ours); without length up to 0."""
    # Room for the line behind the last bar; and something to divide by.
    most = max([value for _, value, *_ in members] + [limit * 1.02, 1e-9])
    drawn = [
        _bar(name, text, f"{name}: {text}", ours, 0.0, 100 * max(value, 0.0) / most)
        for name, value, text, ours in members
    ]
    return drawn, {"limit": 100 * limit / most}


def scaling(groups: Iterable[Group]) -> list[Chart]:
    """Draw time against size: a chart per series, a curve per member that was measured at enough sizes."""
    by_series: dict[str, dict[str, dict[float, Timing]]] = {}
    for timing in (timing for group in groups for timing in group.timings):
        title, size = timing.more.get("series"), positive(timing.more, "size")
        if title and size is not None:
            by_series.setdefault(str(title), {}).setdefault(timing.name, {})[size] = timing
    long = {
        title: {name: sizes for name, sizes in members.items() if len(sizes) >= _LEAST}
        for title, members in by_series.items()
    }
    return [_curves(title, members) for title, members in long.items() if members]


def _curves(title: str, members: Mapping[str, Mapping[float, Timing]]) -> Chart:
    """Draw a curve per member on two logarithmic axes; colour, dash and shape tell them apart."""
    axis = title.partition(" by ")[2] or "size"
    sizes = sorted({size for points in members.values() for size in points})
    times = [timing.us for points in members.values() for timing in points.values()]
    across = LogScale.around(sizes, sizes[0], sizes[0] * 2, start=12.0, end=97.0)
    up = LogScale.around(times, min(times), min(times) * 2, start=CURVES, end=14.0)
    drawn = [
        _curve(position, name, points, across, up) for position, (name, points) in enumerate(members.items())
    ]
    axes = {
        "name": axis,
        "across": [(across.at(x), count(x)) for x in (sizes if len(sizes) <= 5 else across.ticks(6))],
        "up": [(up.at(y), duration(y)) for y in up.ticks(6)],
    }
    label = f"{title}: time against {axis}, both logarithmic"
    return Chart("lines", title, f"Time against {axis}; both axes are logarithmic.", label, drawn, axes)


def _curve(
    position: int, name: str, sizes: Mapping[float, Timing], across: LogScale, up: LogScale
) -> dict[str, Any]:
    """Return a curve's points, its style, and its exponent, which the timing of the largest size has."""
    kind, shape = style(position)
    points = [
        (across.at(size), up.at(sizes[size].us), f"{name}, {count(size)}: {duration(sizes[size].us)}")
        for size in sorted(sizes)
    ]
    facts = sizes[max(sizes)].more
    exponent, error = number(facts, "exponent"), number(facts, "error")
    words = "" if exponent is None else f"exponent {exponent:.2f}"
    words += f" ± {error:.2f}" if words and error is not None else ""
    return {"name": name, "exponent": words, "kind": kind, "shape": shape, "points": points}


def style(position: int) -> tuple[str, str]:
    """Return class and shape at `position`: eleven pairs, of which only the first one's has its class."""
    turn, kinds = position // len(SHAPES), len(SHAPES) - 1
    kind = position if not turn else 1 + (position - len(SHAPES)) % kinds
    return f"s{kind}", SHAPES[(position + 2 * turn) % len(SHAPES)]
