"""Aggregate the conformance matrix by operator, backend and property, with reasons of skips and failures."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from event_ops_harness.results import FAILED, PASSED, SKIPPED

PARTIAL: Final = "partly skipped"
SIGNS: Final = {PASSED: "✓", PARTIAL: "◐", SKIPPED: "–", FAILED: "✕"}
EXAMPLES: Final = 5
REASONS: Final = 20  # of one square; failures often have one each


@dataclass
class Square:
    """Count the cells of one operator on one backend that check one property."""

    id: str
    name: str
    counts: Counter[str] = field(default_factory=Counter[str])
    told: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def add(self, cell: Mapping[str, Any]) -> None:
        """Count a cell; one that neither passed nor was skipped has failed."""
        recorded = str(cell.get("status", ""))
        status = recorded if recorded in (PASSED, SKIPPED) else FAILED
        self.counts[status] += 1
        if status != PASSED:
            fallback = "no reason was recorded" if recorded in (SKIPPED, FAILED) else f"status {recorded!r}"
            reason = str(cell.get("reason") or fallback)
            self.told.setdefault((status, reason), []).append(_name(cell))

    @property
    def status(self) -> str:
        """The worst status of its cells; PARTIAL if only some were skipped."""
        if self.counts[FAILED]:
            return FAILED
        if self.counts[SKIPPED]:
            return PARTIAL if self.counts[PASSED] else SKIPPED
        return PASSED

    @property
    def sign(self) -> str:
        """Its status without colour."""
        return SIGNS[self.status]

    @property
    def summary(self) -> str:
        """Its counts in words."""
        return ", ".join(f"{self.counts[s]:,} {s}" for s in (FAILED, PASSED, SKIPPED) if self.counts[s])

    @property
    def reasons(self) -> list[dict[str, Any]]:
        """Return why cells failed or were skipped, with a few of them; failures first, then by number."""
        grouped = [
            {"status": status, "text": text, "cells": len(cells), "examples": cells[:EXAMPLES]}
            for (status, text), cells in self.told.items()
        ]
        return sorted(grouped, key=lambda r: (r["status"] != FAILED, -r["cells"]))


@dataclass(frozen=True)
class Line:
    """Hold a line of the heat map: one operator on one backend. The operator is named on its `first` line."""

    id: str
    operator: str
    backend: str
    first: bool
    squares: Mapping[str, Square]

    @property
    def totals(self) -> Counter[str]:
        """Cells by status."""
        return sum((square.counts for square in self.squares.values()), Counter[str]())

    def having(self, *statuses: str) -> list[Square]:
        """Its squares with one of these statuses."""
        return [square for square in self.squares.values() if square.status in statuses]


@dataclass(frozen=True)
class Matrix:
    """Hold the heat map: a line per operator and backend, a column per property."""

    properties: tuple[str, ...]
    lines: tuple[Line, ...]
    environments: tuple[Mapping[str, Any], ...]

    @property
    def totals(self) -> Counter[str]:
        """Cells by status."""
        return sum((line.totals for line in self.lines), Counter[str]())

    @property
    def operators(self) -> int:
        """How many operators it has."""
        return len({line.operator for line in self.lines})


class Ids:
    """Make HTML ids of names, each once."""

    def __init__(self) -> None:
        self._given: Counter[str] = Counter()

    def new(self, *names: str) -> str:
        """Join `names`, without signs that an address cannot hold; number an id that was given before."""
        text = re.sub(r"[^A-Za-z0-9_.-]+", "-", "-".join(names)).strip("-") or "part"
        self._given[text] += 1
        # The id with a number may be given already, too.
        return text if self._given[text] == 1 else self.new(f"{text}-{self._given[text]}")


def joined(recorded: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Join `matrix.json`, `matrix_added.json` and so on: cells of an operator in a row are the newest."""
    cells: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    rows: dict[Any, Mapping[str, Any]] = {}
    for content in sorted(recorded, key=lambda content: str(content.get("date", ""))):
        newer: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for cell in content["cells"]:
            newer.setdefault((str(cell.get("operator")), str(cell.get("row"))), []).append(cell)
        cells |= newer
        for row in content["rows"]:
            if row.get("status") != SKIPPED or row.get("name") not in rows:
                rows[row.get("name")] = row
    ordered = sorted(cells, key=lambda place: place[0])
    return {"rows": list(rows.values()), "cells": [cell for place in ordered for cell in cells[place]]}


def matrix(content: Mapping[str, Any], ids: Ids) -> Matrix:
    """Aggregate the cells of `matrix.json`; operators and properties stay in the order in which they come."""
    cells: list[Mapping[str, Any]] = content["cells"]
    squares: dict[tuple[str, ...], Square] = {}
    for cell in cells:
        place = tuple(str(cell.get(key)) for key in ("operator", "backend", "property"))
        if place not in squares:
            squares[place] = Square(ids.new(*place), place[2])
        squares[place].add(cell)
    operators, backends, properties = (tuple(dict.fromkeys(place[i] for place in squares)) for i in range(3))
    lines: list[Line] = []
    for operator, backend in itertools.product(operators, backends):
        row = {name: squares[place] for name in properties if (place := (operator, backend, name)) in squares}
        if row:
            first = not lines or lines[-1].operator != operator
            lines.append(Line(ids.new(operator, backend), operator, backend, first, row))
    return Matrix(properties, tuple(lines), tuple(_environments(content["rows"], cells)))


def _environments(
    rows: Iterable[Mapping[str, Any]], cells: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return each row of the matrix as words, with its cells counted."""
    counts = Counter((cell.get("row"), cell.get("status")) for cell in cells)
    keys = ("name", "python", "jax", "platform", "status", "reason")
    return [
        {key: str(row.get(key) or "") for key in keys}
        | {"cells": [counts[row.get("name"), status] for status in (PASSED, FAILED, SKIPPED)]}
        for row in rows
    ]


def _name(cell: Mapping[str, Any]) -> str:
    keys = ("operator", "backend", "case", "dtype", "property")
    return f"{'-'.join(str(cell[key]) for key in keys if cell.get(key))} ({cell.get('row', '?')})"
