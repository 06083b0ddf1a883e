"""Report a run: one outcome for each cell, as text, as JSON, as a table."""

import shlex
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from event_ops_harness.conformance.cell import Cell
from event_ops_harness.conformance.platforms import EMULATED, platform
from event_ops_harness.results import FAILED, PASSED, SKIPPED

SHOWN: Final = 12  # elements of an input


@dataclass(frozen=True)
class Outcome:
    """The outcome of a cell: "passed", "failed" or "skipped", and why."""

    cell: Cell
    status: str
    reason: str = ""

    def as_json(self) -> dict[str, str]:
        """Return one row of matrix.json."""
        cell = self.cell
        return {
            "operator": cell.operator.name,
            "backend": cell.backend,
            "case": cell.case.name,
            "dtype": cell.dtype,
            "property": cell.prop.name,
            "status": self.status,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Report:
    """All outcomes, in the order of the cells."""

    outcomes: tuple[Outcome, ...]

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """Return the failures, sorted by the size of their inputs: read the first one first."""
        failed = (outcome for outcome in self.outcomes if outcome.status == FAILED)
        return tuple(sorted(failed, key=lambda o: sum(np.size(x) for x in o.cell.inputs()[0])))

    def caught_by(self) -> set[str]:
        """Return the names of the properties that failed."""
        return {outcome.cell.prop.name for outcome in self.failures}

    def __str__(self) -> str:
        counts = Counter(outcome.status for outcome in self.outcomes)
        head = ", ".join(f"{counts[status]} {status}" for status in (PASSED, FAILED, SKIPPED))
        skipped = Counter((o.reason, o.cell.prop.name) for o in self.outcomes if o.status == SKIPPED)
        reasons = [f"{count} {SKIPPED}, {name}: {reason}" for (reason, name), count in skipped.items()]
        return "\n\n".join(["\n".join([head, *reasons]), *(outcome.reason for outcome in self.failures)])

    def show(self, console: Console) -> None:
        """Print operators x properties, and every failure."""
        names = list(dict.fromkeys(outcome.cell.prop.name for outcome in self.outcomes))
        table = Table("operator", "backend", *names)
        rows: dict[tuple[str, str], dict[str, Counter[str]]] = {}
        for outcome in self.outcomes:
            row = rows.setdefault((outcome.cell.operator.name, outcome.cell.backend), {})
            row.setdefault(outcome.cell.prop.name, Counter())[outcome.status] += 1
        for key, row in rows.items():
            table.add_row(*key, *(_mark(row.get(name)) for name in names))
        console.print(table)
        console.print(str(self), markup=False, highlight=False)


def _mark(counts: Counter[str] | None) -> str:
    if counts is None:
        return ""
    if counts[FAILED]:
        return f"{counts[FAILED]} failed"
    return str(counts[PASSED]) if counts[PASSED] else "skipped"


def explain(cell: Cell, error: BaseException, module: str | None) -> str:
    """Return the cell, its inputs, the defect, and the command that repeats it."""
    args, kwargs = cell.inputs()
    lines = [f"{cell.id}: {(cell.prop.check.__doc__ or '').splitlines()[0]}"]
    lines += [f"  {type(error).__name__}: {error}"]
    lines += [f"  input {i}: {_described(x)}" for i, x in enumerate(args)]
    lines += [f"  {name} = {value!r}" for name, value in kwargs.items()]
    if module is not None:
        lines += [f"  again: {again(cell, module)}"]
    return "\n".join(lines)


def again(cell: Cell, module: str) -> str:
    """Return the command that checks this cell alone."""
    emulated = " --emulate-gpu" if platform() == EMULATED else ""
    return f"pytest{emulated} --operators {module} --cell {shlex.quote(cell.id)}"


def _described(x: Any) -> str:
    array = np.asarray(x)
    text = np.array2string(array.ravel()[:SHOWN], threshold=SHOWN, max_line_width=200)
    return f"{array.dtype}{list(array.shape)} {text}{' ...' if array.size > SHOWN else ''}"
