"""Say what `bench catalog` found: a table of cases, one of gradients, and which operators miss a target."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from rich.console import Console
from rich.table import Table

from event_ops_harness.bench.gradients import TARGET, Gradient
from event_ops_harness.results import Row, new_table

WORST: Final = 1.1  # how many times the time of our fastest backend the default may take


def show(console: Console, rows: Sequence[Row], slopes: Sequence[Gradient]) -> None:
    """Print both tables; what was not measured leaves its table out."""
    if rows:
        console.print(_cases(rows))
    if slopes:
        console.print(_gradients(slopes))


def _cases(rows: Sequence[Row]) -> Table:
    names = list(dict.fromkeys(row.rival for row in rows if row.more["ours"]))
    title, columns = "Operators: µs, and times as long as the default (bold)", ("what", "per", *names)
    columns = (*columns, "of triad", "best peer")
    table = new_table(title, columns, text=("what", "per", "best peer"), whole=columns)
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
    table = new_table(title, ("what", "value, µs", "and gradient, µs", "ratio"), ("what",), ("what",))
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


def verdicts(rows: Sequence[Row], slopes: Sequence[Gradient]) -> list[str]:
    """Return a line for each operator that misses a target: its worst case; nothing where none does."""
    by_operator = groupby((row for row in rows if row.more["ours"]), key=lambda row: row.more["operator"])
    lines = [line for name, own in by_operator for line in _of_operator(name, list(own))]
    lines += [
        f"{slope.name}: value_and_grad takes {slope.ratio:.2f} x the time of value, target {TARGET}"
        for slope in slopes
        if slope.ratio > TARGET
    ]
    return lines


def _of_operator(operator: str, rows: Sequence[Row]) -> list[str]:
    slower = [_slowdown(list(case)) for _, case in groupby(rows, key=lambda row: row.group)]
    missed = [
        (ratio, default, best)
        for ratio, default, best in slower
        if ratio > WORST or (ratio > 1 and best.rival == "reference")
    ]
    if not missed:
        return []
    ratio, default, best = max(missed, key=lambda found: found[0])
    where = best.group.removeprefix(operator).strip()
    slow = f"{default.rival}, the default, takes {ratio:.2f} x the time of {best.rival} ({where})"
    return [f"{operator}: {slow}; {len(missed)} of {len(slower)} cases miss the target"]


def _slowdown(case: Sequence[Row]) -> tuple[float, Row, Row]:
    """Return the default's time over the best one's, and both; the reference counts by itself."""
    default = next(row for row in case if row.rival == row.baseline)
    best = min(case, key=lambda row: row.seconds)
    reference = next((row for row in case if row.rival == "reference"), best)
    if default.seconds / best.seconds <= WORST and reference.seconds < default.seconds:
        best = reference
    return default.seconds / best.seconds, default, best
