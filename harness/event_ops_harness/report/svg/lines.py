"""Curves on two logarithmic axes; colour, dash and shape of the points tell them apart."""

from __future__ import annotations

from itertools import pairwise

from markupsafe import Markup

from event_ops_harness.report.curves import Curves, Series
from event_ops_harness.report.figures import count, duration
from event_ops_harness.report.svg.drawing import drawing, line, mark, text
from event_ops_harness.report.svg.scale import LogScale

HEIGHT = 280
FOOT = 40
SHAPES = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "M-3.5,-3.5h7v7h-7z",
    "M0,-5l5,5l-5,5l-5,-5z",
    "M0,-4.8l4.6,8h-9.2z",
    "M0,4.8l4.6,-8h-9.2z",
    "M-4,-1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z",
)


def style(position: int) -> tuple[str, str]:
    """Class and shape at `position`: eleven pairs, of which only the first one's has its class."""
    turn, kinds = position // len(SHAPES), len(SHAPES) - 1
    kind = position if not turn else 1 + (position - len(SHAPES)) % kinds
    return f"s{kind}", SHAPES[(position + 2 * turn) % len(SHAPES)]


def lines(curves: Curves) -> Markup:
    """A line per series."""
    points = [point for series in curves.series for point in series.points]
    sizes, times = [p[0] for p in points], [p[1] for p in points]
    across = LogScale.around(sizes, min(sizes), min(sizes) * 2, start=12.0, end=97.0)
    up = LogScale.around(times, min(times), min(times) * 2, start=HEIGHT - FOOT, end=14.0)
    parts = [
        piece
        for tick in up.ticks(6)
        for piece in (
            line(0, up.at(tick), 100, up.at(tick), "grid"),
            text(0, up.at(tick) - 4, duration(tick), "tick"),
        )
    ]
    measured = sorted(set(sizes))
    ticks = measured if len(measured) <= 5 else across.ticks(6)
    parts += [text(across.at(x), HEIGHT - FOOT + 18, count(x), "tick", "middle") for x in ticks]
    parts.append(text(55, HEIGHT - 4, curves.axis, "tick", "middle"))
    for position, series in enumerate(curves.series):
        parts += _series(series, position, across, up)
    return drawing(f"{curves.title}: time against {curves.axis}, both logarithmic", HEIGHT, parts)


def key(position: int) -> Markup:
    """The mark of a series, for the legend."""
    kind, shape = style(position)
    head = Markup('<svg class="key" width="28" height="12" aria-hidden="true">')
    stroke = Markup('<line x1="0" y1="6" x2="28" y2="6" class="curve {}"/>').format(kind)
    point = Markup('<path d="{}" transform="translate(14,6)" class="point {}"/>').format(shape, kind)
    return head + stroke + point + Markup("</svg>")


def _series(series: Series, position: int, across: LogScale, up: LogScale) -> list[Markup]:
    kind, shape = style(position)
    places = [(across.at(size), up.at(us)) for size, us in series.points]
    strokes = [line(*a, *b, f"curve {kind}") for a, b in pairwise(places)]
    points = [
        mark(x, y, shape, f"point {kind}", f"{series.name}, {count(size)}: {duration(us)}")
        for (x, y), (size, us) in zip(places, series.points, strict=True)
    ]
    return strokes + points
