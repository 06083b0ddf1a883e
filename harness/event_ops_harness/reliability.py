"""Count, as a pytest plugin, the trials of each promise of SECURITY.md, and their failures.

`pytest -p event_ops_harness.reliability -m promise` ends with a table. A test keeps a promise by the mark
`promise(number)`; where it tries more than once, it says so: `record_property("tried", 2000)`.
"""

import re
from collections.abc import Iterable, Iterator
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


@dataclass(frozen=True)
class Promise:
    """Hold a promise of the document: its title, and the tests it names, (file, function)."""

    number: int
    title: str
    tests: tuple[tuple[str, str], ...]


@dataclass
class Outcome:
    tests: int = 0
    tried: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0


def promises(document: str) -> list[Promise]:
    """Return the promises of a document, with a heading `### number. title` each."""
    _, *parts = _HEADING.split(document)
    sections = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return [Promise(int(number), title, tuple(_TEST.findall(text))) for number, title, text in sections]


def kept_by(item: pytest.Item) -> Iterator[int]:
    """Yield the numbers of the promises that a test keeps."""
    for mark in item.iter_markers(_PROMISE):
        yield from mark.args


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Note the promises in what reports carry: those cross process boundaries, marks do not."""
    for item in items:
        item.user_properties += [(_PROMISE, number) for number in dict.fromkeys(kept_by(item))]


def outcomes(reports: Iterable[tuple[str, pytest.TestReport]]) -> dict[int, Outcome]:
    """Return the outcomes of the tests of each promise, from reports and their categories."""
    found: dict[int, Outcome] = {}
    for category, report in reports:
        properties: list[tuple[str, Any]] = report.user_properties
        tried = sum(value for name, value in properties if name == _TRIED) or 1
        for number in (value for name, value in properties if name == _PROMISE):
            outcome = found.setdefault(number, Outcome())
            outcome.tests += 1
            outcome.seconds += report.duration
            outcome.skipped += category == "skipped"
            outcome.failed += category in ("failed", "error")
            outcome.tried += 0 if category == "skipped" else tried
    return found


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the table."""
    document = config.rootpath / DOCUMENT
    known = promises(document.read_text(encoding="utf-8")) if document.exists() else []
    stats = terminalreporter.stats
    categories = ("passed", "failed", "error", "skipped")
    reports = ((name, x) for name in categories for x in stats.get(name, ()) if hasattr(x, "user_properties"))
    found = outcomes(reports)
    Console(width=110).print(_table(known, found))


def _table(known: list[Promise], found: dict[int, Outcome]) -> Table:
    columns = ("promise", "tests", "tried", "failed", "skipped", "seconds")
    table = new_table("Promises", columns, text=("promise",))
    for promise in known:
        outcome = found.get(promise.number, Outcome())
        counts = (outcome.tests, outcome.tried, outcome.failed, outcome.skipped)
        table.add_row(f"{promise.number}. {promise.title}", *map(str, counts), f"{outcome.seconds:.0f}")
    return table
