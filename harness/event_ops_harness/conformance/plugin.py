"""pytest plugin: `pytest --operators MODULE` looks at the operators that MODULE.OPERATORS lists.

A cell is a test. `--profile full` takes all cases, `--properties a,b` some properties, `--cell ID` one cell;
`--cells-json FILE` writes what came out.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from event_ops_harness.conformance.cell import Cell
from event_ops_harness.conformance.check import look_at
from event_ops_harness.conformance.properties import FULL, QUICK, cells
from event_ops_harness.statuses import FAILED, SKIPPED

_KEY = "conformance-cell"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("operators", "conformance of operators of event-ops, or of one's own")
    group.addoption("--operators", metavar="MODULE", action="append", default=[], help="has OPERATORS")
    group.addoption("--profile", choices=(QUICK, FULL), default=QUICK, help="default: quick")
    group.addoption("--properties", default="", metavar="A,B", help="only these; default: all")
    group.addoption("--cell", metavar="ID", help="only this cell")
    group.addoption("--cells-json", type=Path, metavar="FILE", help="write every cell's outcome")


def pytest_configure(config: pytest.Config) -> None:
    """Where operators are named and files are not, only the operators are tested."""
    if config.getoption("operators"):
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args = [str(Path(__file__).with_name("plugin.py"))]
        config.pluginmanager.register(Outcomes(config.getoption("cells_json")), "conformance-outcomes")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Any:
    """This file stands for the operators."""
    if file_path == Path(__file__) and parent.config.getoption("operators"):
        return Operators.from_parent(parent, path=file_path)
    return None


class Operators(pytest.File):
    """Every cell of the operators that were named."""

    def collect(self) -> Iterator[CellItem]:
        """The cells."""
        options: Any = self.config.option
        only = tuple(filter(None, options.properties.split(",")))
        wanted = options.cell
        for name in options.operators:
            for cell in cells(importlib.import_module(name).OPERATORS, options.profile, only):
                if wanted in (None, cell.id):
                    yield CellItem.from_parent(self, name=cell.id, cell=cell, module=name)


class CellItem(pytest.Item):
    """One cell."""

    def __init__(self, *, cell: Cell, module: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.cell, self.module = cell, module

    def runtest(self) -> None:
        """Skip, fail with all there is to say, or pass."""
        outcome = look_at(self.cell, self.module)
        self.user_properties.append((_KEY, outcome.as_json()))
        if outcome.status == SKIPPED:
            pytest.skip(outcome.reason)
        if outcome.status == FAILED:
            pytest.fail(outcome.reason, pytrace=False)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """What pytest prints."""
        return self.path, None, self.cell.id


class Outcomes:
    """Gathers what came out, also from the processes of pytest-xdist."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._cells: list[Any] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a cell's outcome."""
        if report.when == "call":
            self._cells += [value for key, value in report.user_properties if key == _KEY]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write them, in the process that has them all."""
        if self._path is not None and not hasattr(session.config, "workerinput"):
            self._path.write_text(json.dumps(self._cells, indent=0) + "\n")
