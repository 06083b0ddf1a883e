"""The few SVG elements that charts are made of; texts are escaped."""

from __future__ import annotations

from markupsafe import Markup


def drawing(label: str, height: float, parts: list[Markup]) -> Markup:
    """The chart itself; `label` is what it is called where it cannot be seen."""
    head = Markup('<svg class="chart" role="img" aria-label="{}" width="100%" height="{:.0f}">')
    return head.format(label, height) + Markup("").join(parts) + Markup("</svg>")


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> Markup:
    """Words at x percent and y pixels."""
    return Markup('<text x="{:.2f}%" y="{:.1f}" class="{}" text-anchor="{}">{}</text>').format(
        x, y, kind, anchor, words
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """A line from one point to the other, x in percent and y in pixels."""
    return Markup('<line x1="{:.2f}%" y1="{:.1f}" x2="{:.2f}%" y2="{:.1f}" class="{}"/>').format(
        x1, y1, x2, y2, kind
    )


def bar(x1: float, x2: float, y: float, height: float, kind: str, title: str) -> Markup:
    """A bar between two percentages."""
    place = Markup('x="{:.2f}%" width="{:.2f}%" y="{:.1f}" height="{:.1f}"')
    shape = Markup('<rect {} rx="1.5" class="{}"><title>{}</title></rect>')
    return shape.format(place.format(min(x1, x2), abs(x2 - x1), y, height), kind, title)


def dot(x: float, y: float, kind: str, title: str) -> Markup:
    """A point of a strip."""
    return Markup('<circle cx="{:.2f}%" cy="{:.1f}" r="4" class="{}"><title>{}</title></circle>').format(
        x, y, kind, title
    )


def mark(x: float, y: float, shape: str, kind: str, title: str) -> Markup:
    """A point of a curve: a path around its own origin."""
    place = Markup('<svg x="{:.2f}%" y="{:.1f}" overflow="visible">').format(x, y)
    path = Markup('<path d="{}" class="{}"><title>{}</title></path>').format(shape, kind, title)
    return place + path + Markup("</svg>")
