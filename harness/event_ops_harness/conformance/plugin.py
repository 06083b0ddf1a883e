"""Plugin for pytest: `pytest --operators MODULE` checks the operators that MODULE.OPERATORS lists.

A cell is a test. `--profile full` takes all cases, `--properties a,b` some properties, `--cell ID` one cell;
`--cells-json FILE` writes what came out. Kernels run in processes of their own: pytest survives them.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import json
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from event_ops.discover import Operator
from event_ops_harness.conformance.cell import Cell
from event_ops_harness.conformance.processes import Place, Processes
from event_ops_harness.conformance.properties import FULL, QUICK, cells, named
from event_ops_harness.results import FAILED, SKIPPED

_KEY = "conformance-cell"
_CHOSEN = pytest.StashKey[dict[str, list[tuple[Place, Cell]]]]()
_PROCESSES = pytest.StashKey[Processes]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("operators", "conformance of operators of event-ops, or of one's own")
    group.addoption("--operators", metavar="MODULE", action="append", default=[], help="has OPERATORS")
    group.addoption("--profile", choices=(QUICK, FULL), default=QUICK, help="default: quick")
    group.addoption("--properties", default="", metavar="A,B", help="only these; default: all")
    group.addoption("--cell", metavar="ID", help="only this cell")
    group.addoption("--cells-json", type=Path, metavar="FILE", help="write every cell's outcome")


def pytest_configure(config: pytest.Config) -> None:
    """Test the operators alone, if operators are named and files are not."""
    if config.getoption("operators"):
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args = []  # nor is any conftest.py loaded that lies beside this file
        config.pluginmanager.register(Outcomes(config.getoption("cells_json")), "conformance-outcomes")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Choose the cells, so that errors in the options are reported before anything runs."""
    options: Any = session.config.option
    if options.operators and not times(options):
        session.config.stash[_CHOSEN] = chosen_cells(options)
        session.config.stash[_PROCESSES] = processes = Processes()
        session.config.add_cleanup(processes.end)


@pytest.hookimpl(tryfirst=True)  # before -k selects
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Add the cells to the tests."""
    options: Any = session.config.option
    for name in [] if times(options) else options.operators:
        items.extend(session.genitems(Operators.from_parent(session, name=name, nodeid=name)))


def times(options: Any) -> bool:
    """Say whether the operators are to be timed, which the plugin of the benchmarks does."""
    return getattr(options, "benchmark_only", False)


def chosen_cells(options: Any) -> dict[str, list[tuple[Place, Cell]]]:
    """Return, for each module, the cells that the options ask for, and where processes find operators."""
    only = tuple(filter(None, options.properties.split(",")))
    try:
        named(only)
    except ValueError as error:
        raise pytest.UsageError(f"--properties: {error}") from error
    # The command that repeats a cell does not say which profile it is from.
    profile = options.profile if options.cell is None else FULL
    by_module = {
        name: [
            (Place(name, index), cell)
            for index, operator in enumerate(_operators(name))
            for cell in cells([operator], profile, only)
        ]
        for name in options.operators
    }
    return by_module if options.cell is None else _only(options.cell, by_module)


def _operators(module: str) -> Sequence[Operator]:
    try:
        listed = getattr(importlib.import_module(module), "OPERATORS", None)
    except Exception as error:
        trace = "".join(traceback.format_exception(error)).rstrip()
        raise pytest.UsageError(f"--operators: {module} cannot be imported\n{trace}") from error
    if not isinstance(listed, list | tuple) or not listed:
        raise pytest.UsageError(
            f"--operators: {module} has no OPERATORS; list its operators there: OPERATORS = (Operator(...),)"
        )
    return listed


def _only(
    cell_id: str, by_module: dict[str, list[tuple[Place, Cell]]]
) -> dict[str, list[tuple[Place, Cell]]]:
    """Return the cell with this id; raise UsageError if there is none."""
    chosen = {name: [pair for pair in pairs if pair[1].id == cell_id] for name, pairs in by_module.items()}
    if not any(chosen.values()):
        ids = [cell.id for pairs in by_module.values() for _, cell in pairs]
        near = difflib.get_close_matches(cell_id, ids, cutoff=0.4)
        hint = "like it are " + ", ".join(near) if near else "--collect-only -q lists them"
        raise pytest.UsageError(f"--cell: no cell is called {cell_id!r}; {hint}")
    return chosen


class Operators(pytest.Collector):
    """The chosen cells of a module."""

    def collect(self) -> Iterator[CellItem]:
        """Yield the cells."""
        chosen: Any = self.config.stash[_CHOSEN]
        for place, cell in chosen[self.name]:
            yield CellItem.from_parent(self, name=cell.id, cell=cell, place=place)


class CellItem(pytest.Item):
    """One cell."""

    def __init__(self, *, cell: Cell, place: Place, **rest: Any) -> None:
        super().__init__(**rest)
        self.cell, self.place = cell, place

    def runtest(self) -> None:
        """Check the cell: pass, skip, or fail with an explanation."""
        outcome = self.config.stash[_PROCESSES].look_at(self.cell, self.place)
        # pytest-xdist sends properties with a report, to the process that writes the file.
        self.user_properties.append((_KEY, outcome.as_json()))
        if outcome.status == SKIPPED:
            pytest.skip(outcome.reason)
        if outcome.status == FAILED:
            pytest.fail(outcome.reason, pytrace=False)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the place and the name that pytest prints."""
        return self.place.module, None, self.cell.id


class Outcomes:
    """Outcomes of the cells, gathered from all processes of pytest-xdist."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._cells: list[Any] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a cell's outcome."""
        if report.when == "call":
            self._cells += [value for key, value in report.user_properties if key == _KEY]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the outcomes, in the process that has all of them."""
        if self._path is not None and not hasattr(session.config, "workerinput"):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(self._cells, indent=0) + "\n")


# Entry points of the distributions, by their names.
PLUGINS: Final = {
    "ffi_bridge": "ffi_bridge_pytest",
    "event_ops_harness": "event_ops_harness.conformance.plugin",
    "event_ops_harness_bench": "event_ops_harness.bench.plugin",
}


def command_of_pytest() -> list[str]:
    """Return the words that begin every run; plugins that pytest does not find by itself are named."""
    installed = {point.name for point in importlib.metadata.entry_points(group="pytest11")}
    missing = [word for name, module in PLUGINS.items() if name not in installed for word in ("-p", module)]
    return [sys.executable, "-m", "pytest", *missing, "-q", "-p", "no:cacheprovider"]
