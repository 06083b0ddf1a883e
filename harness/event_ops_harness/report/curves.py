"""Scaling: the time of each rival against a size, where rows have one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from event_ops_harness.report.figures import positive

_SIZES: Final = ("size", "x", "nnz", "nse", "spikes", "num_spikes", "synapses", "neurons", "n", "threads")
_TIMES: Final = ("us", "us_median")
_LEAST: Final = 3  # sizes that make a curve


@dataclass(frozen=True)
class Series:
    """One rival: (size, microseconds) by size, and its fitted exponent in words, where there is one."""

    name: str
    points: tuple[tuple[float, float], ...]
    exponent: str


@dataclass(frozen=True)
class Curves:
    """Rivals that did the same work at several sizes."""

    title: str
    axis: str
    series: tuple[Series, ...]


def curves(rows: Sequence[Mapping[str, Any]], fits: Sequence[Mapping[str, Any]] = ()) -> list[Curves]:
    """One chart per series, operator or group with enough sizes; `fits` hold exponents apart from rows."""
    by_title: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if any(positive(row, key) for key in _TIMES):
            by_title.setdefault(_title(row), []).append(row)
    found = (_curves(title, members, fits) for title, members in by_title.items())
    return [chart for chart in found if chart is not None]


def _title(row: Mapping[str, Any]) -> str:
    """What the row measures, without the size at the end of its group's name."""
    named = row.get("series") or row.get("operator") or row.get("group") or ""
    return re.sub(r"[\s,:=]+[\d.,]+(e\d+)?[kMG%]?$", "", str(named))


def _curves(
    title: str, rows: Sequence[Mapping[str, Any]], fits: Sequence[Mapping[str, Any]]
) -> Curves | None:
    key = max(_SIZES, key=lambda k: len({positive(row, k) for row in rows} - {None}))
    by_rival: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if positive(row, key):
            by_rival.setdefault(_rival(row), []).append(row)
    series = tuple(
        Series(name, _points(members, key), _exponent(title, name, [*members, *fits]))
        for name, members in by_rival.items()
        if len({positive(row, key) for row in members}) >= _LEAST
    )
    return Curves(title, title.partition(" by ")[2] or key.replace("_", " "), series) if series else None


def _points(rows: Sequence[Mapping[str, Any]], key: str) -> tuple[tuple[float, float], ...]:
    found = ((positive(r, key), next(filter(None, (positive(r, t) for t in _TIMES)))) for r in rows)
    return tuple(sorted((size, us) for size, us in found if size is not None))


def _exponent(title: str, rival: str, rows: Sequence[Mapping[str, Any]]) -> str:
    for row in rows:
        value = row.get("exponent")
        if isinstance(value, int | float) and _rival(row) == rival and _title(row) == title:
            errors = (row.get(name) for name in ("error", "standard_error", "stderr", "exponent_error"))
            error = next((e for e in errors if isinstance(e, int | float)), None)
            return f"exponent {value:.2f}" + (f" ± {error:.2f}" if error is not None else "")
    return ""


def _rival(row: Mapping[str, Any]) -> str:
    return str(row.get("rival") or row.get("simulator") or "")
