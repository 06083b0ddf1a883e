"""Count, as a pytest plugin, the trials of each promise of SECURITY.md, and their failures.

`pytest -p event_ops_harness.reliability -m promise` ends with a table. A test keeps a promise by the mark
`promise(number)`; where it tries more than once, it says so: `record_property("tried", 2000)`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import pytest
from rich.console import Console
from rich.table import Table

from event_ops_harness.results import new_table

DOCUMENT: Final = "SECURITY.md"
_HEADING: Final = re.compile(r"^### (\d+)\. (.+)$", re.MULTILINE)
_TEST: Final = re.compile(r"`([\w./-]+\.py)::(\w+)`")
_PROMISE: Final = "promise"
_TRIED: Final = "tried"
COUNTED: Final = ("tests", "tried", "failed", "skipped", "seconds")


@dataclass(frozen=True)
class Promise:
    """Hold a promise of the document: its title, and the tests it names, (file, function)."""

    number: int
    title: str
    tests: tuple[tuple[str, str], ...]


def promises(document: str) -> list[Promise]:
    """Return the promises of a document, with a heading `### number. title` each."""
    # The pattern's two groups come between the texts: number, title, text, number, and so on.
    _, *fields = _HEADING.split(document)
    sections = zip(fields[::3], fields[1::3], fields[2::3], strict=True)
    return [Promise(int(number), title, tuple(_TEST.findall(text))) for number, title, text in sections]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Note the promises in the properties of reports, which cross process boundaries; marks do not."""
    for item in items:
        kept = (number for mark in item.iter_markers(_PROMISE) for number in mark.args)
        # Each once, also where a module and a test have the same mark.
        item.user_properties += [(_PROMISE, number) for number in dict.fromkeys(kept)]


def outcomes(reports: Iterable[tuple[str, pytest.TestReport]]) -> dict[int, dict[str, float]]:
    """Count the tests, trials, failures, skips and seconds of each promise, by reports with categories."""
    totals: dict[int, dict[str, float]] = defaultdict(lambda: dict.fromkeys(COUNTED, 0.0))
    for category, report in reports:
        properties: list[tuple[str, Any]] = report.user_properties
        skipped, failed = category == "skipped", category in ("failed", "error")
        tried = sum(value for name, value in properties if name == _TRIED) or 1
        counts = 1, 0 if skipped else tried, failed, skipped, report.duration
        for number in (value for name, value in properties if name == _PROMISE):
            for name, count in zip(COUNTED, counts, strict=True):
                totals[number][name] += count
    return totals


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the table."""
    document = config.rootpath / DOCUMENT
    documented = promises(document.read_text(encoding="utf-8")) if document.exists() else []
    stats = terminalreporter.stats
    categories = ("passed", "failed", "error", "skipped")
    reports = ((name, x) for name in categories for x in stats.get(name, ()) if hasattr(x, "user_properties"))
    totals = outcomes(reports)
    Console(width=110).print(_table(documented, totals))


def _table(documented: list[Promise], totals: dict[int, dict[str, float]]) -> Table:
    table = new_table("Promises", ("promise", *COUNTED), text=("promise",))
    for promise in documented:
        counts = (f"{totals[promise.number][name]:.0f}" for name in COUNTED)
        table.add_row(f"{promise.number}. {promise.title}", *counts)
    return table
