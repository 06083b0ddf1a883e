"""Charts as SVG: strips of cases, bars of ratios and amounts, curves; x is in percent, y in pixels.

No chart needs a script, a font or a colour of its own: the page's style sheet draws them in light and dark.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Self

from markupsafe import Markup

from event_ops_harness.report.figures import count, duration, ratio
from event_ops_harness.report.rows import Group, Point

STRIP: Final = 32  # heights
STRIP_HEAD: Final = 22
BAR_ROW: Final = 30
BAR: Final = 7
CURVES: Final = 280
CURVES_FOOT: Final = 40
SHAPES: Final = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "M-3.5,-3.5h7v7h-7z",
    "M0,-5l5,5l-5,5l-5,-5z",
    "M0,-4.8l4.6,8h-9.2z",
    "M0,4.8l4.6,-8h-9.2z",
    "M-4,-1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z",
)


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
        found = [*values, least, most]
        low, high = min(found), max(found)
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


def _element(name: str, content: str | None, **attributes: Any) -> Markup:
    """Return an element, its text escaped; in an attribute's name `_` is `-`, and left out at the end."""
    given = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    head = Markup(" ").join([Markup(name), *(Markup('{}="{}"').format(*pair) for pair in given)])
    return Markup("<{}/>" if content is None else "<{}>{}</{}>").format(head, content, Markup(name))


def _percent(x: float) -> str:
    return f"{x:.2f}%"


def _drawing(label: str, height: float, parts: Iterable[Markup]) -> Markup:
    """Return the chart; `label` is its name where it cannot be seen."""
    place = {"aria_label": label, "width": "100%", "height": f"{height:.0f}"}
    return _element("svg", Markup("").join(parts), class_="chart", role="img", **place)


def _text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> Markup:
    return _element("text", words, x=_percent(x), y=f"{y:.1f}", class_=kind, text_anchor=anchor)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    ends = {"x1": _percent(x1), "y1": f"{y1:.1f}", "x2": _percent(x2), "y2": f"{y2:.1f}"}
    return _element("line", None, **ends, class_=kind)


def _bar_row(top: float, name: str, shown: str, kind: str, title: str, *ends: float) -> list[Markup]:
    """Draw a name, a figure, a bar between the first two percentages, and the limit at the third."""
    start, end, limit = ends
    place = {"x": _percent(min(start, end)), "width": _percent(abs(end - start))}
    place |= {"y": f"{top + 17:.1f}", "height": f"{BAR:.1f}", "rx": "1.5"}
    return [
        _text(0, top + 12, name, f"name {kind}"),
        _text(100, top + 12, shown, "value", "end"),
        _element("rect", _element("title", title), **place, class_=f"bar {kind}"),
        _line(limit, top + 15, limit, top + 26, "limit"),
    ]


def strips(
    label: str, rows: Mapping[str, Sequence[Point]], written: Callable[[float], str], short: str
) -> Markup:
    """Draw a line per operator, a dot per case, a limit at 1.

    `written` says a value; dots below the limit have the class `short`, the others `ours`.
    """
    every = [point.value for points in rows.values() for point in points]
    scale = LogScale.around(every, 0.5, 2.0, start=1.0, end=99.0)
    height, limit = STRIP_HEAD + STRIP * len(rows), scale.at(1.0)
    parts: list[Markup] = []
    for tick in scale.ticks():
        x = scale.at(tick)
        anchor = "start" if x < 8 else "end" if x > 92 else "middle"
        parts += [_line(x, STRIP_HEAD - 6, x, height, "grid"), _text(x, 11, written(tick), "tick", anchor)]
    for position, (name, points) in enumerate(rows.items()):
        top = STRIP_HEAD + position * STRIP
        middle, values = top + 22, [point.value for point in points]
        parts += [
            _text(0, top + 11, name, "name mono"),
            _text(100, top + 11, written(statistics.median(values)), "value", "end"),
            _line(scale.at(min(values)), middle, scale.at(max(values)), middle, "extent"),
            _line(limit, middle - 7, limit, middle + 7, "limit"),
        ]
        for point in points:
            place = {"cx": _percent(scale.at(point.value)), "cy": f"{middle:.1f}", "r": "4"}
            title, kind = _element("title", f"{name} {point.text}"), "ours" if point.value >= 1 else short
            parts.append(_element("circle", title, **place, class_=f"dot {kind}"))
    return _drawing(label, height, parts)


@dataclass(frozen=True)
class Amount:
    """Hold a figure from 0 on, in words too."""

    name: str
    value: float
    text: str
    ours: bool


def ratio_scale(groups: Sequence[Group]) -> LogScale:
    """Return one axis for all bars of these groups."""
    return LogScale.around([g.ratio(t) for g in groups for t in g.timings], 0.8, 2.0)


def ratio_bars(group: Group, scale: LogScale) -> Markup:
    """Draw a bar per member, fastest first, from the limit, 1, logarithmically; the first has none."""
    label, limit = f"{group.name}: times as long as {group.baseline.name}", scale.at(1.0)
    parts: list[Markup] = []
    for position, timing in enumerate(sorted(group.timings, key=lambda t: t.us)):
        first, value, time = timing is group.baseline, group.ratio(timing), duration(timing.us)
        kind = "rival" if timing in group.rivals else "ours"
        shown = f"{time}  {'= 1' if first else ratio(value)}"
        title = f"{timing.name}: {group.written_ratio(timing)}, {time}"
        parts += _bar_row(position * BAR_ROW, timing.name, shown, kind, title, limit, scale.at(value), limit)
    return _drawing(label, BAR_ROW * len(group.timings) + 2, parts)


def amount_bars(label: str, amounts: Sequence[Amount], limit: float = 0.0) -> Markup:
    """Draw a bar per amount, from 0; what is not above 0 has none. The line is at `limit`."""
    most = max([amount.value for amount in amounts] + [limit * 1.02, 1e-9])
    parts: list[Markup] = []
    for position, amount in enumerate(amounts):
        kind, title = "ours" if amount.ours else "rival", f"{amount.name}: {amount.text}"
        ends = 0, 100 * max(amount.value, 0.0) / most, 100 * limit / most
        parts += _bar_row(position * BAR_ROW, amount.name, amount.text, kind, title, *ends)
    return _drawing(label, BAR_ROW * len(amounts) + 2, parts)


@dataclass(frozen=True)
class Series:
    """Hold (size, microseconds) of one rival, by size, and the fitted exponent in words, if there is one."""

    name: str
    points: tuple[tuple[float, float], ...]
    exponent: str


@dataclass(frozen=True)
class Curves:
    """Hold rivals that did the same work at several sizes."""

    title: str
    axis: str
    series: tuple[Series, ...]


def style(position: int) -> tuple[str, str]:
    """Return class and shape at `position`: eleven pairs, of which only the first one's has its class."""
    turn, kinds = position // len(SHAPES), len(SHAPES) - 1
    kind = position if not turn else 1 + (position - len(SHAPES)) % kinds
    return f"s{kind}", SHAPES[(position + 2 * turn) % len(SHAPES)]


def lines(curves: Curves) -> Markup:
    """Draw a line per series on two logarithmic axes; colour, dash and shape tell them apart."""
    sizes, times = zip(*(point for series in curves.series for point in series.points), strict=True)
    across = LogScale.around(sizes, min(sizes), min(sizes) * 2, start=12.0, end=97.0)
    up = LogScale.around(times, min(times), min(times) * 2, start=CURVES - CURVES_FOOT, end=14.0)
    parts: list[Markup] = []
    for tick in up.ticks(6):
        y = up.at(tick)
        parts += [_line(0, y, 100, y, "grid"), _text(0, y - 4, duration(tick), "tick")]
    measured = sorted(set(sizes))
    for x in measured if len(measured) <= 5 else across.ticks(6):
        parts.append(_text(across.at(x), CURVES - CURVES_FOOT + 18, count(x), "tick", "middle"))
    parts.append(_text(55, CURVES - 4, curves.axis, "tick", "middle"))
    for position, series in enumerate(curves.series):
        parts += _series(series, position, across, up)
    return _drawing(f"{curves.title}: time against {curves.axis}, both logarithmic", CURVES, parts)


def _series(series: Series, position: int, across: LogScale, up: LogScale) -> list[Markup]:
    kind, shape = style(position)
    places = [(across.at(size), up.at(us)) for size, us in series.points]
    found = [_line(*a, *b, f"curve {kind}") for a, b in pairwise(places)]
    for (x, y), (size, us) in zip(places, series.points, strict=True):
        title = _element("title", f"{series.name}, {count(size)}: {duration(us)}")
        path = _element("path", title, d=shape, class_=f"point {kind}")
        found.append(_element("svg", path, x=_percent(x), y=f"{y:.1f}", overflow="visible"))
    return found


def key(position: int) -> Markup:
    """Draw the mark of a series, for the legend."""
    kind, shape = style(position)
    stroke = _element("line", None, x1=0, y1=6, x2=28, y2=6, class_=f"curve {kind}")
    point = _element("path", None, d=shape, transform="translate(14,6)", class_=f"point {kind}")
    return _element("svg", stroke + point, class_="key", width=28, height=12, aria_hidden="true")
