"""The charts that a benchmark's groups allow: marks beside a line at 1, and curves over sizes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from event_ops_harness.report import rows
from event_ops_harness.report.drawing import NARROW, curves, dots, legend
from event_ops_harness.report.figures import count, duration, number, percent, positive, ratio, short
from event_ops_harness.report.rows import Group, Timing

AMOUNT: Final = "bytes_per_synapse"
_LEAST: Final = 3  # sizes that make a curve
_KINDS: Final = ("ours", "rival")
_FASTER: Final = ("faster", "slower")


@dataclass(frozen=True)
class Chart:
    """Hold a chart: its drawing, behind a list of its series where it has several, which no colour names."""

    title: str
    remark: str
    drawing: str


def overview(groups: Sequence[Group]) -> list[Chart]:
    """Draw a line per operator: the fastest rival's ratio, and the share of the memory's bandwidth."""
    fastest, shares = (rows.figures(groups, of) for of in (rows.fastest_rival, rows.share))
    charts: list[Chart] = []
    if fastest:
        remark = "Its time over ours, of all cases: the mark is their median. Right of the line it is slower."
        charts.append(_line_each("The fastest rival", remark, fastest, _FASTER, ratio))
    if shares:
        remark = (
            "Bytes that must move, over what streaming through memory (a triad, a copy) moves in that time. "
            "Above 100% a case fits a cache."
        )
        ends = ("memory", "a cache")
        charts.append(_line_each("Share of the memory bandwidth", remark, shares, ends, percent))
    return charts


def _line_each(
    title: str,
    remark: str,
    found: Mapping[str, Sequence[float]],
    ends: tuple[str, str],
    written: Callable[[float], str],
) -> Chart:
    marks = {name: {title: figures} for name, figures in found.items()}
    label = f"{title}, by operator, logarithmic"
    return Chart(title, remark, dots(marks, [title], label, ends, NARROW, written))


def members(groups: Iterable[Group], *, short_titles: bool = False) -> list[Chart]:
    """Draw a mark per member of a group, fastest first; the title is the case alone where `short_titles`."""
    charts: list[Chart] = []
    for group in groups:
        remark = f"Times as long as {group.baseline.name}"
        timings = sorted(group.timings, key=lambda timing: timing.us)
        drawn = [
            (timing, group.ratio(timing), f"{duration(timing.us)}, {ratio(group.ratio(timing))}")
            for timing in timings
        ]
        title = group.case if short_titles else group.name
        charts.append(_mark_each(title, remark, group, drawn, _FASTER))
    return charts


def amounts(groups: Iterable[Group]) -> list[Chart]:
    """Draw a chart per group of memory per synapse; a member that takes none has no mark."""
    charts: list[Chart] = []
    for group in groups:
        bytes_of = [(timing, number(timing.more, AMOUNT)) for timing in group.timings]
        taken = sorted(((x, timing) for timing, x in bytes_of if x is not None), key=lambda pair: pair[0])
        ours = number(group.baseline.more, AMOUNT)
        if taken and ours and ours > 0:
            # A slope may be -0.001, which is to be written 0, not -0.
            drawn = [(timing, x / ours, f"{short(round(x, 2) + 0.0)} B") for x, timing in taken]
            remark = f"Bytes per synapse, beside those of {group.baseline.name}"
            charts.append(_mark_each(group.name, remark, group, drawn, ("fewer", "more")))
    return charts


def _mark_each(
    title: str, remark: str, group: Group, drawn: Iterable[tuple[Timing, float, str]], ends: tuple[str, str]
) -> Chart:
    """Draw a line for each (member, ratio to ours, the figure itself as text)."""
    marks = {
        f"{timing.name}: {text}": {_KINDS[timing in group.rivals]: [value]} if value > 0 else {}
        for timing, value, text in drawn
    }
    label = f"{group.name}: {remark[0].lower()}{remark[1:]}"
    return Chart(title, remark, dots(marks, _KINDS, label, ends, NARROW))


def efficiencies(groups: Iterable[Group]) -> list[Chart]:
    """Draw a line per group: the efficiency of several threads."""
    marks: dict[str, dict[str, list[float]]] = {}
    for group in groups:
        for timing in group.timings:
            value = positive(timing.more, "efficiency")
            if value and (number(timing.more, "threads") or 0) > 1:
                marks.setdefault(group.name, {})[timing.name] = [value]
    if not marks:
        return []
    title, names = "Efficiency", list(dict.fromkeys(name for of in marks.values() for name in of))
    remark = "The time of one thread over that of all, as a share of how many there are."
    drawn = dots(marks, names, "Efficiency of several threads", ("lost", "gained"), NARROW, percent)
    return [Chart(title, remark, legend(names) + drawn)]


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
    """Draw a curve per member; the exponent, which the timing of the largest size has, is behind its name."""
    axis = title.partition(" by ")[2] or "size"
    times = {
        name + _exponent(sizes[max(sizes)]): {size: timing.us for size, timing in sizes.items()}
        for name, sizes in members.items()
    }
    label = f"{title}: time against {axis}, both logarithmic"
    drawn = curves(times, label, (axis, "time"), count, NARROW, duration)
    remark = f"Time against {axis}; both axes are logarithmic."
    return Chart(title, remark, legend(list(times)) + drawn)


def _exponent(timing: Timing) -> str:
    exponent, error = number(timing.more, "exponent"), number(timing.more, "error")
    if exponent is None:
        return ""
    return f", exponent {exponent:.2f}" + (f" ± {error:.2f}" if error is not None else "")
