"""Strips: a line per operator, a dot per case, a limit at 1."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from markupsafe import Markup

from event_ops_harness.report.comparisons import Point
from event_ops_harness.report.svg.drawing import dot, drawing, line, text
from event_ops_harness.report.svg.scale import LogScale

ROW = 32
HEAD = 22


def strips(
    label: str, rows: Mapping[str, Sequence[Point]], written: Callable[[float], str], beyond: str, short: str
) -> Markup:
    """`written` says a value; dots above the limit have the class `beyond`, the others `short`."""
    values = [point.value for points in rows.values() for point in points]
    scale = LogScale.around(values, 0.5, 2.0, start=1.0, end=99.0)
    height = HEAD + ROW * len(rows)
    parts = [piece for tick in scale.ticks() for piece in _tick(scale.at(tick), written(tick), height)]
    for position, (name, points) in enumerate(rows.items()):
        parts += _strip(name, points, scale, HEAD + position * ROW, written, beyond, short)
    return drawing(label, height, parts)


def _tick(x: float, words: str, height: float) -> list[Markup]:
    anchor = "start" if x < 8 else "end" if x > 92 else "middle"
    return [line(x, HEAD - 6, x, height, "grid"), text(x, 11, words, "tick", anchor)]


def _strip(
    name: str,
    points: Sequence[Point],
    scale: LogScale,
    top: float,
    written: Callable[[float], str],
    beyond: str,
    short: str,
) -> list[Markup]:
    values = [point.value for point in points]
    middle, limit = top + 22, scale.at(1.0)
    return [
        text(0, top + 11, name, "name mono"),
        text(100, top + 11, written(statistics.median(values)), "value", "end"),
        line(scale.at(min(values)), middle, scale.at(max(values)), middle, "extent"),
        line(limit, middle - 7, limit, middle + 7, "limit"),
        *(
            dot(scale.at(p.value), middle, f"dot {beyond if p.value >= 1 else short}", f"{name} {p.text}")
            for p in points
        ),
    ]
