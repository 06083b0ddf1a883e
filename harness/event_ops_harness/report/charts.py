"""The charts that a benchmark's rows allow: strips of many cases, curves, bars."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from event_ops_harness.report import rows, svg
from event_ops_harness.report.figures import number, percent, positive, ratio, short
from event_ops_harness.report.rows import Group, is_ours
from event_ops_harness.report.svg import Amount, Curves, Series

AMOUNT: Final = "bytes_per_synapse"
TRIAD: Final = "STREAM triad"  # the group that measures the memory, not one of our operators
_SIZES: Final = ("size", "x", "nnz", "nse", "spikes", "num_spikes", "synapses", "neurons", "n", "threads")
_TIMES: Final = ("us", "us_median")
_LEAST: Final = 3  # sizes that make a curve

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Chart:
    """Hold a drawing with its title, a remark, and (mark, name, exponent) of each curve."""

    title: str
    remark: str
    drawing: Markup
    legend: tuple[tuple[Markup, str, str], ...] = ()


def overview(groups: Sequence[Group]) -> list[Chart]:
    """Draw a strip per operator: the fastest rival's ratio, and the share of the memory's bandwidth."""
    fastest, shares = rows.fastest_rivals(groups), rows.shares(groups)
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


def efficiencies(measured: Sequence[Row]) -> list[Chart]:
    """Draw a bar per group: the efficiency of several threads, with a line at 1."""
    found: list[Amount] = []
    for row in measured:
        value = positive(row, "efficiency")
        if value is not None and (number(row, "threads") or 0) > 1:
            ours = row.get("group") != TRIAD
            text = f"{row.get('rival')}  {percent(value)}"
            found.append(Amount(str(row.get("group")), value, text, ours))
    if not found:
        return []
    remark = "The time of one thread over that of all, as a share of how many there are. The line is at 100%."
    drawing = svg.amount_bars("Efficiency of several threads", found, limit=1.0)
    return [Chart("Efficiency", remark, drawing)]


def bars(groups: Sequence[Group], *, short_titles: bool = False) -> list[Chart]:
    """Draw a chart per group, all on one axis; its title is the case alone where `short_titles`."""
    scale = svg.ratio_scale(groups)
    return [
        Chart(
            group.case if short_titles else group.name,
            f"Times as long as {group.baseline.rival}",
            svg.ratio_bars(group, scale),
        )
        for group in groups
    ]


def amounts(measured: Sequence[Row]) -> list[Chart]:
    """Draw a chart per group of memory per synapse."""
    by_group: dict[str, list[Amount]] = {}
    for row in measured:
        value, name = number(row, AMOUNT), str(row.get("rival") or "")
        if value is not None:
            amount = Amount(name, value, f"{short(round(value, 2) + 0.0)} B", is_ours(row, name))
            by_group.setdefault(str(row.get("group")), []).append(amount)
    found: list[Chart] = []
    for group, members in by_group.items():
        ordered = sorted(members, key=lambda amount: amount.value)
        drawing = svg.amount_bars(f"{group}: bytes per synapse", ordered)
        found.append(Chart(group, "Bytes per synapse", drawing))
    return found


def scaling(measured: Sequence[Row], fits: Sequence[Row]) -> list[Chart]:
    """Draw time against size; `fits` hold the exponents."""
    return [
        Chart(
            found.title if found.title else f"By {found.axis}",
            f"Time against {found.axis}; both axes are logarithmic.",
            svg.lines(found),
            tuple((svg.key(i), series.name, series.exponent) for i, series in enumerate(found.series)),
        )
        for found in curves(measured, fits)
    ]


def curves(measured: Sequence[Row], fits: Sequence[Row] = ()) -> list[Curves]:
    """Find a chart per series, operator or group with enough sizes; `fits` hold exponents apart from rows."""
    by_title: dict[str, list[Row]] = {}
    for row in measured:
        if any(positive(row, key) for key in _TIMES):
            by_title.setdefault(_title(row), []).append(row)
    found = (_curves(title, members, fits) for title, members in by_title.items())
    return [chart for chart in found if chart is not None]


def _title(row: Row) -> str:
    """Return what the row measures, without the size at the end of its group's name."""
    named = row.get("series") or row.get("operator") or row.get("group") or ""
    return re.sub(r"[\s,:=]+[\d.,]+(e\d+)?[kMG%]?$", "", str(named))


def _curves(title: str, members: Sequence[Row], fits: Sequence[Row]) -> Curves | None:
    key = max(_SIZES, key=lambda k: len({positive(row, k) for row in members} - {None}))
    by_rival: dict[str, list[Row]] = {}
    for row in members:
        if positive(row, key):
            by_rival.setdefault(_rival(row), []).append(row)
    series = tuple(
        Series(name, _points(own, key), _exponent(title, name, [*own, *fits]))
        for name, own in by_rival.items()
        if len({positive(row, key) for row in own}) >= _LEAST
    )
    return Curves(title, title.partition(" by ")[2] or key.replace("_", " "), series) if series else None


def _points(members: Sequence[Row], key: str) -> tuple[tuple[float, float], ...]:
    found = ((positive(r, key), next(filter(None, (positive(r, t) for t in _TIMES)))) for r in members)
    return tuple(sorted((size, us) for size, us in found if size is not None))


def _exponent(title: str, rival: str, candidates: Iterable[Row]) -> str:
    for row in candidates:
        value = row.get("exponent")
        if isinstance(value, int | float) and _rival(row) == rival and _title(row) == title:
            errors = (row.get(name) for name in ("error", "standard_error", "stderr", "exponent_error"))
            error = next((e for e in errors if isinstance(e, int | float)), None)
            return f"exponent {value:.2f}" + (f" ± {error:.2f}" if error is not None else "")
    return ""


def _rival(row: Row) -> str:
    return str(row.get("rival") or row.get("simulator") or "")
