"""Count the work of the catalog's CUDA kernels, print a table, and write it as JSON.

Their PTX is executed on the CPU: no GPU is needed, nothing is timed, and each run writes the same bytes.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import jax
from rich.console import Console

from event_ops.discover import operators
from event_ops_harness.gpu.counters import BACKENDS, Row, counted
from event_ops_harness.results import RESULTS, command, installed, new_table
from ffi_bridge.emulated import emulate_gpu
from ptx_on_cpu.counters.roofline import ASSUMPTIONS

OUTPUT: Final = RESULTS / "gpu_counters.json"
COMPILERS: Final = ("numba-cuda", "nvidia-nvjitlink", "nvidia-nvjitlink-cu12", "warp-lang")
_WORDS: Final = ("operator", "case", "backend")
# Fields of a row that the printed table shows, and the heads of those that have others.
FIELDS: Final = (
    *(*_WORDS, "launches", "excess", "streamed", "instructions", "warp_efficiency", "bank_conflicts"),
    *("atomics", "registers", "local", "occupancy", "h100_us", "h200_us"),
)
HEADS: Final = {
    "excess": "bytes / ideal",
    "warp_efficiency": "warps",
    "bank_conflicts": "conflicts",
    "h100_us": "ESTIMATE H100, us",
    "h200_us": "ESTIMATE H200, us",
}
LEGEND: Final = (
    "bytes / ideal: bytes of distinct sectors read and written, over those that any algorithm has to move; "
    "streamed: bytes asked for over bytes moved, of the worst array that is gone through once, without "
    "atomics; instructions: those that warps issue; warps: the part of lanes that are active; conflicts: "
    "wavefronts that bank conflicts add; atomics: the most updates of one address; local: bytes of local "
    "memory a thread, 0 where nothing is spilled; estimates are a roofline's: nothing was timed"
)


def write(path: Path, nox_command: str, compilers: Sequence[str], rows: Sequence[Row]) -> None:
    """Write the rows, how to count them again, and the assumptions of estimates; each run writes the same."""
    record = {
        "command": nox_command,
        "compilers": installed(*compilers),
        "rows": [row.written() for row in rows],
        "meaning": LEGEND,
        "estimates": f"h100_us and h200_us are ESTIMATES, which assume that {'; '.join(ASSUMPTIONS)}",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")


def text(value: Any) -> str:
    """Return a figure in three digits; nothing for None."""
    if isinstance(value, float):
        return f"{value:.3g}"
    return "" if value is None else str(value)


def show(rows: Sequence[Row]) -> None:
    """Print the rows, and the meaning of the columns."""
    table = new_table("Counted, not measured", [HEADS.get(field, field) for field in FIELDS], _WORDS)
    for written in (row.written() for row in rows):
        table.add_row(*(text(written[field]) for field in FIELDS))
    console = Console(width=170)
    console.print(table)
    console.print(LEGEND, highlight=False)


def main(argv: Sequence[str] | None = None) -> int:
    """Count, show, write."""
    words = sys.argv[1:] if argv is None else argv
    by_name = {operator.name: operator for operator in operators()}
    parser = argparse.ArgumentParser(prog="counters", description=__doc__, allow_abbrev=False)
    parser.add_argument("--operators", nargs="+", choices=by_name, default=list(by_name), metavar="NAME")
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=BACKENDS, metavar="BACKEND")
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="FILE")
    options = parser.parse_args(words)
    jax.config.update("jax_disable_most_optimizations", True)  # what is counted does not depend on it
    rows: list[Row] = []
    for row in counted(emulate_gpu(), [by_name[name] for name in options.operators], options.backends):
        print(f"{row.operator} {row.case} {row.backend}", file=sys.stderr)
        rows.append(row)
    show(rows)
    write(options.output, command("counters", words), COMPILERS, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
