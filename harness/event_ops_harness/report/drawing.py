"""Draw figures as SVG for pages: marks on a logarithmic axis, and curves.

Colours are classes, which `templates/charts.css` draws, for light and dark; a shape goes with each, for
readers who do not tell colours apart.
"""

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final, Self

from event_ops_harness.report.figures import ratio, short

WIDTH, NARROW, ROW, TOP, LABEL = 760, 360, 18, 34, 54
COLOURS = 8
SHAPES: Final = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "M-3.5,-3.5h7v7h-7z",
    "M0,-5l5,5l-5,5l-5,-5z",
    "M0,-4.8l4.6,8h-9.2z",
    "M0,4.8l4.6,-8h-9.2z",
    "M-4,-1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z",
)

Marks = Mapping[str, Sequence[float]]  # the values of each series


@dataclass(frozen=True)
class Drawn:
    """Hold a chart: names of series, its SVG, the figures as head and rows of a table, a sentence below."""

    names: list[str]
    svg: str
    head: list[str]
    rows: list[list[str]]
    said: str = ""


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
    written: Callable[[float], str] = ratio,
) -> str:
    """Draw a line for each row: a mark at the median of each series, and a bar over its values.

    Names stand left of the lines, or above them where there is no width for both.

    Args:
        rows: the series of each row; None for a heading.
        names: of the series, in the order of their colours.
        label: says what is drawn to those who do not see it.
        ends: what a mark left of 1 means, and one right of it.
        width: of the drawing.
        written: writes a value.
    """
    above = width < WIDTH
    left = 0 if above else 24 + max(round(6.9 * len(name)) for name in rows)
    row = ROW + 12 if above else ROW
    values = [x for marks in rows.values() for series in (marks or {}).values() for x in series]
    scale = LogScale.around(values, 0.8, 1.25, start=left + (26 if above else 8), end=width - 30)
    bottom = TOP + row * len(rows)
    one = scale.at(1)
    parts = [f'<rect class="behind" x="{left}" y="{TOP}" width="{one - left:.1f}" height="{bottom - TOP}"/>']
    for tick in _apart(scale):
        x = scale.at(tick)
        parts.append(f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>')
        parts += [_text(x, y, "middle", written(tick)) for y in (TOP - 6, bottom + 15)]
    parts.append(f'<line class="one" x1="{one:.1f}" x2="{one:.1f}" y1="{TOP - 2}" y2="{bottom}"/>')
    if one - left > 7 * len(ends[0]) + 22:
        parts.append(_text(one - 8, 11, "end", f"← {ends[0]}"))
    if width - one > 7 * len(ends[1]) + 22:
        parts.append(_text(one + 8, 11, "start", f"{ends[1]} →"))
    for place, (name, marks) in enumerate(rows.items()):
        y = TOP + row * (place + 0.75 if above else place + 0.5)
        heads = marks is None  # an empty row is no heading
        where = (4, y + 4 if heads else y - 10, "start") if heads or above else (left, y + 4, "end")
        parts.append(_text(*where, name, "head" if heads else "name"))
        for series, ratios in (marks or {}).items():
            parts.append(_marked(names.index(series), name, series, sorted(ratios), y, scale.at, written))
    return _svg(width, bottom + 22, label, parts)


def _apart(scale: LogScale) -> list[float]:
    """Return as many ticks as have room for their labels, each of up to seven characters."""
    for most in range(7, 1, -1):
        places = [scale.at(tick) for tick in scale.ticks(most)]
        if all(b - a >= LABEL for a, b in itertools.pairwise(places)):
            return scale.ticks(most)
    return [1.0]


def _marked(
    kind: int,
    row: str,
    series: str,
    values: Sequence[float],
    y: float,
    at: Callable[[float], float],
    written: Callable[[float], str],
) -> str:
    low, middle, high = values[0], statistics.median(values), values[-1]
    words = written(middle)
    if low != high:
        words = f"{written(low)} to {written(high)}, median {words}"
    bar = f'<line class="c{kind}" x1="{at(low):.1f}" x2="{at(high):.1f}" y1="{y}" y2="{y}"/>'
    return f"<g><title>{escape(f'{row}, {series}: {words}')}</title>{bar}{_mark(kind, at(middle), y)}</g>"


def curves(
    series: Mapping[str, Mapping[float, float]],
    label: str,
    axes: tuple[str, str],
    written: Callable[[float], str],
    width: int = WIDTH,
    amount: Callable[[float], str] | None = None,
) -> str:
    """Draw a curve for each series on two logarithmic axes.

    `axes` names them, `written` writes a size, `amount` a value that is not a ratio.
    """
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
        kind = "one" if y == 1 and not amount else "tick"
        parts.append(
            f'<line class="{kind}" x1="70" x2="{width - 14}" y1="{up.at(y):.1f}" y2="{up.at(y):.1f}"/>'
        )
        parts.append(_text(62, up.at(y) + 4, "end", (amount or short)(y)))
    for kind, (name, points) in enumerate(series.items()):
        places = [(across.at(x), up.at(points[x]), x) for x in sorted(points)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
        parts.append(f'<polyline class="c{kind % COLOURS}" points="{line}"/>')
        for x, y, size in places:
            words = escape(f"{name}, {written(size)}: {(amount or short)(points[size])}")
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
