"""Figures of any benchmark as a table: a column per key, figures in few digits."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from event_ops_harness.report.figures import between, number, percent, short
from event_ops_harness.report.rows import GRADIENT, Group, Timing

_HEADS: Final = {
    "group": "what",
    "name": "who",
    "us": "µs",
    "ratio": "ratio to the first",
    "quartiles_us": "quartiles, µs",
    "rate": "rate, Hz",
    "share": "of bandwidth",
    "h100_us": "ESTIMATE H100, µs",
    "h200_us": "ESTIMATE H200, µs",
    "excess": "compulsory / ideal",
}
_SHARES: Final = ("share", "efficiency", "streamed", "warp_efficiency", "occupancy")
# The group's name holds operator and series, remarks have versions, and a column of its own the ratio.
_ELSEWHERE: Final = ("operator", "series", "ours", "versions", "rival", "ratio", "low", "high")
_FEW: Final = 8  # values of a list that are written out


@dataclass(frozen=True)
class Cell:
    """Hold a text, and whether it is a figure."""

    text: str
    figure: bool


@dataclass(frozen=True)
class Table:
    """Hold heads and rows of equal length."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Make a table of all keys that a row has a value of; where a row lacks it the cell stays empty."""
    filled = {key: None for row in rows for key, value in row.items() if value not in (None, "", [])}
    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key in filled]
    heads = tuple(_HEADS.get(key, key.replace("_", " ")) for key in keys)
    return Table(title, heads, tuple(tuple(cell(key, row.get(key)) for key in keys) for row in rows))


def by_member(group: Group, timing: Timing) -> dict[str, Any]:
    """Make the row of a member, with everything that its file says of it."""
    figures = {"group": group.name, "name": timing.name, "us": timing.us, "ratio": group.ratio(timing)}
    more = {key: value for key, value in timing.more.items() if key not in _ELSEWHERE}
    return figures | {"ratio to the fastest rival": _to_rival(timing)} | more


def _to_rival(timing: Timing) -> str:
    """Write how many times as long as the fastest rival of its group a member takes, with the interval."""
    value, rival = number(timing.more, "ratio"), timing.more.get("rival")
    if value is None or rival in (None, timing.name):
        return ""
    return f"{between(value, *timing.interval)} {rival}"


def by_case(group: Group) -> dict[str, Any]:
    """Make the row of a group: figures of the first, the fastest rival's ratio, and every member's time."""
    facts = group.baseline.more.items()
    more = {k: v for k, v in facts if k not in _ELSEWHERE and not isinstance(v, dict | list)}
    rival = group.fastest_rival
    fastest = "" if rival is None else f"{group.written_ratio(rival)} {rival.name}"
    times = {f"{timing.name}, µs": timing.us for timing in group.timings}
    return {"case": group.case, **more, "fastest rival": fastest, **times}


def of_gradients(groups: Sequence[Group]) -> Table:
    """Make a row per group: the times of value and gradient, and of the value alone."""
    rows = [
        {"what": group.name.removeprefix(GRADIENT)}
        | {f"{t.name.replace('_', ' ')}, µs": t.us for t in (value, gradient)}
        | {"times as long": between(gradient.us / value.us, *gradient.interval)}
        for group in groups
        for gradient, value in [group.timings[:2]]
    ]
    return table("Gradients", rows)


def of_steps(steps: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """Make tables of a run on a GPU: how each step ended, and the figures that it found."""
    ended = [
        {"step": name, "status": step.get("status"), "seconds": step.get("seconds")}
        | {"why": step.get("tail") if step.get("status") == "skipped" else ""}
        for name, step in steps.items()
    ]
    figures = [
        {"step": name, "what": label, "figure": value}
        for name, step in steps.items()
        for label, value in (step.get("found") or {}).items()
    ]
    return [table("Steps", ended)] + ([table("Figures", figures)] if figures else [])


def cell(key: str, value: Any) -> Cell:
    """Write a value of the JSON in few digits."""
    if value is None:
        return Cell("", False)
    if isinstance(value, bool):  # before numbers: it is an int, too
        return Cell("yes" if value else "no", False)
    if isinstance(value, int | float):
        whole = isinstance(value, int) and abs(value) < 1e15
        return Cell(percent(value) if key in _SHARES else f"{value:,}" if whole else short(value), True)
    if isinstance(value, list) and value and all(isinstance(x, int | float) for x in value):
        many = f"{len(value)} from {short(min(value))} to {short(max(value))}"
        return Cell(many if len(value) > _FEW else ", ".join(cell(key, x).text for x in value), True)
    if isinstance(value, dict):
        return Cell(", ".join(f"{name} {cell(name, x).text}" for name, x in value.items()), False)
    return Cell(value if isinstance(value, str) else json.dumps(value), False)
