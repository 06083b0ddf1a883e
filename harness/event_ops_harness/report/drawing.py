"""Draw figures as SVG for pages: marks on a logarithmic axis, and curves.

Colours are classes that `_static/site.css` has for light and dark; a shape goes with each, for readers who do
not tell colours apart.
"""

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from event_ops_harness.report.charts import SHAPES, LogScale
from event_ops_harness.report.figures import ratio

WIDTH, NARROW, ROW, TOP, LABEL = 760, 360, 18, 34, 54
COLOURS = 8

Marks = Mapping[str, Sequence[float]]  # the values of each series


@dataclass(frozen=True)
class Drawn:
    """Hold a chart: names of series, its SVG, the figures as head and rows of a table, a sentence below."""

    names: list[str]
    svg: str
    head: list[str]
    rows: list[list[str]]
    said: str = ""


def legend(names: Sequence[str]) -> str:
    """Return a list of the series, each with its mark."""
    marks = (
        f'<svg viewBox="-7 -7 14 14" aria-hidden="true">{_mark(i, 0, 0)}</svg>' for i in range(len(names))
    )
    items = (f"<li>{mark}{escape(name)}</li>" for mark, name in zip(marks, names, strict=True))
    return f'<ul class="legend">{"".join(items)}</ul>'


def for_any_window(draw: Callable[..., str], *of: Any) -> str:
    """Return a drawing for wide windows and one for phones; `_static/site.css` shows the one that fits."""
    wide, narrow = draw(*of, WIDTH), draw(*of, NARROW)
    return f'<div><div class="wide">{wide}</div><div class="narrow">{narrow}</div></div>'


def dots(
    rows: Mapping[str, Marks | None],
    names: Sequence[str],
    label: str,
    ends: tuple[str, str],
    width: int = WIDTH,
) -> str:
    """Draw a line for each row: a mark at the median of each series, and a bar over its values.

    Names stand left of the lines, or above them where there is no width for both.

    Args:
        rows: the series of each row; None for a heading.
        names: of the series, in the order of their colours.
        label: says what is drawn to those who do not see it.
        ends: what a mark left of 1 means, and one right of it.
        width: of the drawing.
    """
    above = width < WIDTH
    left = 0 if above else 24 + max(round(6.9 * len(name)) for name in rows)
    row = ROW + 12 if above else ROW
    values = [x for marks in rows.values() for series in (marks or {}).values() for x in series]
    scale = LogScale.around(values, 0.8, 1.25, start=left + 8, end=width - 30)
    bottom = TOP + row * len(rows)
    one = scale.at(1)
    parts = [f'<rect class="behind" x="{left}" y="{TOP}" width="{one - left:.1f}" height="{bottom - TOP}"/>']
    for tick in _apart(scale):
        x = scale.at(tick)
        parts.append(f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>')
        parts += [_text(x, y, "middle", ratio(tick)) for y in (TOP - 6, bottom + 15)]
    parts.append(f'<line class="one" x1="{one:.1f}" x2="{one:.1f}" y1="{TOP - 2}" y2="{bottom}"/>')
    if one - left > 7 * len(ends[0]):
        parts.append(_text(one - 8, 11, "end", f"← {ends[0]}"))
    if width - one > 7 * len(ends[1]):
        parts.append(_text(one + 8, 11, "start", f"{ends[1]} →"))
    for place, (name, marks) in enumerate(rows.items()):
        y = TOP + row * (place + 0.75 if above else place + 0.5)
        heads = marks is None  # an empty row is no heading
        where = (4, y + 4 if heads else y - 10, "start") if heads or above else (left, y + 4, "end")
        parts.append(_text(*where, name, "head" if heads else "name"))
        for series, ratios in (marks or {}).items():
            parts.append(_marked(names.index(series), name, series, sorted(ratios), y, scale.at))
    return _svg(width, bottom + 22, label, parts)


def _apart(scale: LogScale) -> list[float]:
    """Return as many ticks as have room for their labels, each of up to seven characters."""
    for most in range(7, 1, -1):
        places = [scale.at(tick) for tick in scale.ticks(most)]
        if all(b - a >= LABEL for a, b in itertools.pairwise(places)):
            return scale.ticks(most)
    return [1.0]


def _marked(
    kind: int, row: str, series: str, values: Sequence[float], y: float, at: Callable[[float], float]
) -> str:
    low, middle, high = values[0], statistics.median(values), values[-1]
    words = ratio(middle) if low == high else f"{ratio(low)} to {ratio(high)}, median {ratio(middle)}"
    bar = f'<line class="c{kind}" x1="{at(low):.1f}" x2="{at(high):.1f}" y1="{y}" y2="{y}"/>'
    return f"<g><title>{escape(f'{row}, {series}: {words}')}</title>{bar}{_mark(kind, at(middle), y)}</g>"


def curves(
    series: Mapping[str, Mapping[float, float]],
    label: str,
    axes: tuple[str, str],
    written: Callable[[float], str],
    width: int = WIDTH,
) -> str:
    """Draw a curve for each series on two logarithmic axes; `axes` names them, `written` writes a size."""
    sizes = sorted({x for points in series.values() for x in points})
    values = [y for points in series.values() for y in points.values()]
    bottom = 300.0
    across = LogScale.around(sizes, sizes[0], sizes[0] * 2, start=70, end=width - 14)
    up = LogScale.around(values, min(values), min(values) * 2, start=bottom, end=30)
    parts = [_text(6, 14, "start", axes[1]), _text(width - 14, bottom + 36, "end", axes[0])]
    for x in sizes if len(sizes) * LABEL < width else _apart(across):
        parts.append(_text(across.at(x), bottom + 18, "middle", written(x)))
        parts.append(
            f'<line class="tick" x1="{across.at(x):.1f}" x2="{across.at(x):.1f}" y1="30" y2="{bottom}"/>'
        )
    for y in up.ticks(6):
        kind = "one" if y == 1 else "tick"
        parts.append(
            f'<line class="{kind}" x1="70" x2="{width - 14}" y1="{up.at(y):.1f}" y2="{up.at(y):.1f}"/>'
        )
        parts.append(_text(62, up.at(y) + 4, "end", f"{y:,.6g}"))
    for kind, (name, points) in enumerate(series.items()):
        places = [(across.at(x), up.at(points[x]), x) for x in sorted(points)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
        parts.append(f'<polyline class="c{kind % COLOURS}" points="{line}"/>')
        for x, y, size in places:
            words = escape(f"{name}, {written(size)}: {points[size]:.3g}")
            parts.append(f"<g><title>{words}</title>{_mark(kind, x, y)}</g>")
    return _svg(width, round(bottom) + 42, label, parts)


def _mark(kind: int, x: float, y: float) -> str:
    # Eight colours and six shapes: no two of two dozen series have both.
    shape = SHAPES[kind % len(SHAPES)]
    return f'<path class="c{kind % COLOURS}" d="{shape}" transform="translate({x:.1f},{y:.1f})"/>'


def _text(x: float, y: float, anchor: str, words: str, kind: str = "small") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _svg(width: int, height: int, label: str, parts: Sequence[str]) -> str:
    inside = "".join(parts)
    named = f'role="img" aria-label="{escape(label)}"'
    return f'<div class="chart"><svg viewBox="0 0 {width} {height}" {named}>{inside}</svg></div>'
