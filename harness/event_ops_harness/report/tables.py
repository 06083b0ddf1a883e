"""Rows of any benchmark as a table: a column per key, figures in few digits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from event_ops_harness.report.figures import percent, short

_HEADS: Final = {
    "group": "what",
    "rival": "who",
    "us": "µs",
    "us_min": "min µs",
    "us_median": "median µs",
    "value_us": "value, µs",
    "value_and_grad_us": "value and gradient, µs",
    "ratio_min": "ratio of minima",
    "ratio_median": "median ratio",
    "rate": "rate, Hz",
    "share": "of bandwidth",
}
_SHARES: Final = ("share", "efficiency")
# The group's name holds the operator; versions are in the list of inputs; samples are in the JSON.
_LEFT_OUT: Final = ("operator", "ours", "versions", "us_per_step", "by", "samples", "series")


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


def table(title: str, rows: Sequence[Mapping[str, Any]], columns: Iterable[str] = ()) -> Table:
    """Make a table of all keys of the rows, or of `columns`; a key that a row lacks stays empty."""
    keys = tuple(columns) or tuple(k for k in dict.fromkeys(k for r in rows for k in r) if k not in _LEFT_OUT)
    heads = tuple(_HEADS.get(key, key.replace("_", " ")) for key in keys)
    return Table(title, heads, tuple(tuple(cell(key, row.get(key)) for key in keys) for row in rows))


def by_rival(title: str, rows: Sequence[Mapping[str, Any]], heads: Mapping[str, str]) -> Table:
    """Make a row per group, named by `heads`, of all rivals' times; bytes and share are the first's."""
    rivals = tuple(dict.fromkeys(str(row["rival"]) for row in rows))
    known = tuple(key for key in ("per", "bytes", "share") if any(key in row for row in rows))
    lines: list[dict[str, Any]] = []
    for group in dict.fromkeys(row["group"] for row in rows):
        members = [row for row in rows if row["group"] == group]
        first = {key: members[0].get(key) for key in known}
        times = {f"{row['rival']}, µs": row.get("us") for row in members}
        lines.append({"case": heads[group], **first, **times})
    return table(title, lines, ("case", *known, *(f"{rival}, µs" for rival in rivals)))


def sections(content: Mapping[str, Any]) -> list[Table]:
    """Make a table of each list of objects beside the rows."""
    return [
        table(key.replace("_", " ").capitalize(), value)
        for key, value in content.items()
        if key != "rows" and isinstance(value, list) and value and all(isinstance(x, dict) for x in value)
    ]


def of_steps(steps: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """Make tables of a run on a GPU: how each step ended, and the figures that it found."""
    ended = [
        {"step": name, "status": step.get("status"), "seconds": step.get("seconds")}
        | {"why": step.get("tail") if step.get("status") == "skipped" else ""}
        for name, step in steps.items()
    ]
    figures = [
        {"step": name, "what": what, "figure": value}
        for name, step in steps.items()
        for what, value in (step.get("found") or {}).items()
    ]
    return [table("Steps", ended)] + ([table("Figures", figures)] if figures else [])


def cell(key: str, value: Any) -> Cell:
    """Write a value of the JSON in few digits."""
    if value is None:
        return Cell("", False)
    if isinstance(value, bool):
        return Cell("yes" if value else "no", False)
    if isinstance(value, int | float):
        whole = isinstance(value, int) and abs(value) < 1e15
        return Cell(percent(value) if key in _SHARES else f"{value:,}" if whole else short(value), True)
    return Cell(value if isinstance(value, str) else json.dumps(value), False)
