"""The tables of `bench catalog`: one row per case, one per gradient."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from event_ops_harness.bench.gradients import TARGET, Gradient
from event_ops_harness.results import Row


def show(console: Console, rows: Sequence[Row], slopes: Sequence[Gradient]) -> None:
    """Print both tables; what was not measured leaves its table out."""
    if rows:
        console.print(_cases(rows))
    if slopes:
        console.print(_gradients(slopes))


def _cases(rows: Sequence[Row]) -> Table:
    names = list(dict.fromkeys(row.rival for row in rows if row.more["ours"]))
    title = "Operators: µs, and times as long as the default (bold)"
    table = Table(title=title, title_justify="left")
    table.add_column("what", no_wrap=True)
    for column in ("per", *names, "of triad", "best peer"):
        table.add_column(column, justify="left" if column in ("per", "best peer") else "right", no_wrap=True)
    for _, of_operator in groupby(rows, key=lambda row: row.more["operator"]):
        for group, found in groupby(of_operator, key=lambda row: row.group):
            table.add_row(group, *_line(list(found), names))
        table.add_section()
    return table


def _line(case: Sequence[Row], names: Sequence[str]) -> list[str]:
    by_name = {row.rival: row for row in case}
    default = by_name[case[0].baseline]
    peer = min((row for row in case if not row.more["ours"]), key=lambda row: row.seconds, default=None)
    return [
        str(default.more["per"]),
        *(_cell(by_name[name], default) if name in by_name else "-" for name in names),
        f"{default.more['share']:.0%}",
        f"{_cell(peer, default)} {peer.rival}" if peer else "-",
    ]


def _cell(row: Row, default: Row) -> str:
    figure = _microseconds(row.seconds)
    return f"[bold]{figure}[/]" if row is default else f"{figure} ({_short(row.seconds / default.seconds)}x)"


def _gradients(slopes: Sequence[Gradient]) -> Table:
    title = f"Gradients on the default backend: value_and_grad over value, target {TARGET}"
    table = Table(title=title, title_justify="left")
    table.add_column("what", no_wrap=True)
    for column in ("value, µs", "and gradient, µs", "ratio"):
        table.add_column(column, justify="right")
    for slope in slopes:
        ratio = f"{slope.ratio:.2f}"
        shown = f"[bold]{ratio}[/]" if slope.ratio > TARGET else ratio
        times = map(_microseconds, (slope.value, slope.value_and_grad))
        table.add_row(slope.name, *times, shown)
    return table


def _microseconds(seconds: float) -> str:
    return _short(seconds * 1e6)


def _short(figure: float) -> str:
    return f"{figure:.3g}" if figure < 1000 else f"{figure:.0f}"
