"""Merge the outcomes of all rows of the matrix into one file."""

import argparse
import json
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from event_ops_harness.conformance.properties import PROPERTIES
from event_ops_harness.results import FAILED, PASSED, RESULTS, SKIPPED, machine, when
from ffi_bridge.operators import PREFERENCE

OUTPUT: Final = RESULTS / "matrix.json"


def merged(rows: Path, cells: Path) -> dict[str, Any]:
    """Return the rows of a TOML file with all cells of the folder `cells`, which has a file for each row."""
    declared = tomllib.loads(rows.read_text(encoding="utf-8"))["row"]
    named_rows = [{"name": f"{r['python']}-{r['jax']}-{r['platform']}", **r} for r in declared]
    files = {row["name"]: cells / f"{row['name']}.json" for row in named_rows}
    recorded = {name: json.loads(file.read_text()) if file.exists() else [] for name, file in files.items()}
    by_row = {name: sorted(checked, key=_place) for name, checked in recorded.items()}
    return {
        "command": "nox -s matrix",
        **when(),
        "machine": machine(),
        "rows": [_row(row, by_row[row["name"]]) for row in named_rows],
        "cells": [{"row": name, **cell} for name, checked in by_row.items() for cell in checked],
    }


def _place(cell: dict[str, str]) -> tuple[str, int, int, str, str]:
    """Return a key that does not depend on the order in which processes ended."""
    backends, properties = [*PREFERENCE["cpu"], *PREFERENCE["gpu"]], [prop.name for prop in PROPERTIES]
    backend = backends.index(cell["backend"]) if cell["backend"] in backends else len(backends)
    return cell["operator"], backend, properties.index(cell["property"]), cell["case"], cell["dtype"]


def _row(row: dict[str, Any], cells: Sequence[dict[str, str]]) -> dict[str, str]:
    counts = Counter(cell["status"] for cell in cells)
    status, reason = (FAILED if counts[FAILED] else PASSED), ""
    if not cells:
        status, reason = SKIPPED, _why_not(row)
    return {
        **{key: row[key] for key in ("name", "python", "jax", "platform")},
        "status": status,
        "reason": reason,
    }


def _why_not(row: dict[str, Any]) -> str:
    if row["platform"] == "linux-gpu":
        return "this machine has no NVIDIA GPU"
    if not _answers(f"python{row['python']}"):
        return f"Python {row['python']} is not installed here"
    return "it was not run"


def _answers(command: str) -> bool:
    """Return whether this Python runs here: a shim of pyenv may exist and refuse."""
    path = shutil.which(command)
    return path is not None and subprocess.run([path, "--version"], capture_output=True).returncode == 0


def show(console: Console, matrix: dict[str, Any]) -> None:
    """Print the rows, with how many cells passed, failed and were skipped, and the failures."""
    table = Table("row", "status", PASSED, FAILED, SKIPPED, title="Conformance", title_justify="left")
    for row in matrix["rows"]:
        counts = Counter(cell["status"] for cell in matrix["cells"] if cell["row"] == row["name"])
        table.add_row(
            row["name"], row["reason"] or row["status"], *(str(counts[s]) for s in (PASSED, FAILED, SKIPPED))
        )
    console.print(table)
    for cell in matrix["cells"]:
        if cell["status"] == FAILED:
            console.print(f"{cell['row']}\n{cell['reason']}", markup=False, highlight=False)


def _a_cell_a_line(matrix: dict[str, Any]) -> str:
    """Return JSON with a line for each cell, so that a diff shows single cells."""
    head = json.dumps({key: value for key, value in matrix.items() if key != "cells"}, indent=1)
    cells = ",\n".join(json.dumps(cell) for cell in matrix["cells"])
    return f'{head.removesuffix("}").rstrip()},\n "cells": [\n{cells}\n]}}\n'


def main(argv: Sequence[str] | None = None) -> int:
    """Merge, show and write; return 1 if a cell failed."""
    parser = argparse.ArgumentParser(
        prog="python -m event_ops_harness.conformance.matrix", description=__doc__
    )
    parser.add_argument("rows", type=Path, help="a file like ci/matrix.toml")
    parser.add_argument(
        "cells", type=Path, help="the folder of what `pytest --cells-json` wrote, a file a row"
    )
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="FILE")
    options = parser.parse_args(argv)
    matrix = merged(options.rows, options.cells)
    show(Console(), matrix)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(_a_cell_a_line(matrix))
    return int(any(row["status"] == FAILED for row in matrix["rows"]))


if __name__ == "__main__":
    sys.exit(main())
