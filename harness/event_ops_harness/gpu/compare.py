"""Check the catalog on this machine's GPU and on an emulated one, and compare the outcomes, cell by cell."""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from event_ops_harness.conformance.plugin import command_of_pytest
from event_ops_harness.results import PASSED, SKIPPED

# The cells that show what a kernel computes; the other properties are the bridge's.
PROPERTIES: Final = "values,jit,vmap,scan,vjp"
OPTIONS: Final = (
    *("--no-header", "--tb=no"),
    *("--operators", "catalog_operators", "--properties", PROPERTIES),
)
WORDS: Final = ("operator", "backend", "case", "dtype", "property")

Cells = list[dict[str, str]]


def cells(*options: str) -> Cells:
    """Run the cells in a process of their own, and return the outcome of each."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cells.json"
        command = [*command_of_pytest(), *OPTIONS, *options, "--cells-json", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not file.exists():
            raise SystemExit(done.stdout + done.stderr)
        return json.loads(file.read_text())


def compared(gpu: Cells, emulated: Cells) -> dict[str, Any]:
    """Return how many cells were checked on both, and the cells whose outcomes differ."""
    on_emulated, on_gpu = _by_place(emulated), _by_place(gpu)
    both = [
        place
        for place in on_gpu
        if place in on_emulated and SKIPPED not in (*on_gpu[place], *on_emulated[place])
    ]
    differ = [place for place in both if on_gpu[place] != on_emulated[place]]
    return {
        "cells on both": sum(on_gpu[place].total() for place in both),
        "passed on both": sum(on_gpu[place][PASSED] for place in both if place not in differ),
        "differ": ["-".join(place) for place in differ],
    }


def _by_place(cells: Iterable[Mapping[str, str]]) -> dict[tuple[str, ...], Counter[str]]:
    """Return the statuses at each place: cells of several index dtypes share one."""
    places: dict[tuple[str, ...], Counter[str]] = {}
    for cell in cells:
        places.setdefault(tuple(cell[word] for word in WORDS), Counter())[cell["status"]] += 1
    return places


def main() -> int:
    """Check on both, print the comparison as JSON; return 1 where they differ."""
    comparison = compared(cells(), cells("--emulate-gpu"))
    print(json.dumps(comparison))
    return int(bool(comparison["differ"]) or not comparison["cells on both"])


if __name__ == "__main__":
    sys.exit(main())
