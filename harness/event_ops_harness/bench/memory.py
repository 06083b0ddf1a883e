"""Measure memory per synapse: what a matrix keeps resident, and the peak while it is built and multiplied.

Each figure is the slope, by least squares, of a fresh process's resident memory over the number of synapses,
so that what every process needs (Python, libraries, compiled programs) is not in it. Peaks count the matrix
itself; those of products are of a second call. While building there are NumPy's arrays too, of which the
matrix is made. Per row of the matrix a few vectors are counted as well: with the default 1000 synapses in a
row a few hundredths of a byte.
Events: `Events(e) @ A`, 1 % active; with a plan, and for BCSR, which has no other product, `A @ e`; SciPy and
BCSR take them as floats. Measured through /proc, so on Linux only. Not measured: memory on a GPU, gradients.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from scipy.stats import linregress

from event_ops_harness.bench.fresh import Found, ProcessError, ask, take_turns
from event_ops_harness.bench.suite import Parser, count, print_skipped, write
from event_ops_harness.bench.workers.memory import KINDS
from event_ops_harness.results import new_table

BASELINE: Final = "SciPy CSR"
STAGES: Final = ("kept", "building", "product", "event product")
SYNAPSES: Final = (2_000_000, 8_000_000, 16_000_000, 32_000_000)

# Large blocks go back to the system when they are freed, so that no allocator's leftovers are counted.
_ENVIRONMENT: Final = {"MALLOC_MMAP_THRESHOLD_": str(1 << 20)}


def measure(
    kinds: Sequence[str], options: argparse.Namespace, status: Any
) -> tuple[list[Any], dict[str, str]]:
    """Return one row per stage and kind; and why kinds were left out."""
    jobs = {kind: functools.partial(_sizes, kind, options) for kind in kinds}
    found, failed = take_turns(jobs, options.rounds, status.update)
    if BASELINE not in found:
        raise ProcessError(f"{BASELINE}, which ratios refer to, failed: {failed[BASELINE]}")
    failed |= _wrong(found)
    rows = {
        (stage, kind): _row(stage, kind, found[kind], options.synapses)
        for stage in STAGES
        for kind in found
        if kind not in failed
    }
    for (stage, _), row in rows.items():
        row["ratio"] = row["bytes_per_synapse"] / rows[stage, BASELINE]["bytes_per_synapse"]
    return list(rows.values()), failed


def _sizes(kind: str, options: argparse.Namespace) -> Found:
    """Ask one process per size, after one that fills the kernel cache: compiling leaves memory behind."""
    sizes = [{"rows": n // options.per_row, "per_row": options.per_row} for n in options.synapses]
    _, *found = [ask("memory", {"kind": kind, **size}, _ENVIRONMENT) for size in (sizes[0], *sizes)]
    return {"sizes": found}


def _row(stage: str, kind: str, rounds: Sequence[Found], synapses: Sequence[int]) -> dict[str, Any]:
    resident = [median([each["sizes"][i][stage] for each in rounds]) for i in range(len(synapses))]
    fit: Any = linregress(synapses, resident)
    return {
        "group": stage,
        "rival": kind,
        "bytes_per_synapse": fit.slope,
        "error": fit.stderr,
        "fixed_MiB": fit.intercept / 2**20,
        "synapses": list(synapses),
        "resident_MiB": [size / 2**20 for size in resident],
    }


def _wrong(found: Mapping[str, Sequence[Found]]) -> dict[str, str]:
    """Return the kinds whose products are not those of the same matrix in SciPy, and why."""
    expected = found[BASELINE][0]["sizes"]
    wrong: dict[str, str] = {}
    for kind, (first, *_) in found.items():
        for own, right in zip(first["sizes"], expected, strict=True):
            for name in KINDS[kind].compared:
                got, want = own[f"norm of {name}"], right[f"norm of {name}"]
                if abs(got - want) > 1e-3 * want:
                    wrong[kind] = f"its {name} has norm {got:.6g}; expected {want:.6g}"
    return wrong


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = ("matrix", *(stage if stage == "kept" else f"peak, {stage}" for stage in STAGES))
    table = new_table("Bytes per synapse, ± standard error", columns, text=("matrix",), whole=("matrix",))
    for kind in dict.fromkeys(row["rival"] for row in rows):
        cells = [
            f"{row['bytes_per_synapse']:.2f} ± {row['error']:.2f}" for row in rows if row["rival"] == kind
        ]
        table.add_row(kind, *cells)
    return table


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser("memory", __doc__)
    add = parser.add_argument
    add("--rounds", type=count, default=3, help="processes of each kind and size; default: 3")
    add("--synapses", type=count, nargs="+", default=SYNAPSES, metavar="N", help="at least three sizes")
    add("--per-row", type=count, default=1000, metavar="N", help="synapses in a row; default: 1000")
    add("--only", nargs="+", default=[], metavar="WORD", help="kinds whose name contains it, and SciPy")
    options = parser.parse(argv)
    if len(set(options.synapses)) < 3 or any(n % options.per_row for n in options.synapses):
        parser.error(f"--synapses: at least three different multiples of --per-row, {options.per_row}")
    if any(n < options.per_row**2 for n in options.synapses):
        parser.error(
            f"--synapses: from {options.per_row**2:,} on, so that a row has room for --per-row of them"
        )
    if not Path("/proc/self/clear_refs").exists():
        parser.error("this system has no /proc/self/clear_refs: memory is measured on Linux only")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show and write; return the exit status."""
    options, console = _parse(argv), Console()
    kinds = [kind for kind in KINDS if any(word in kind for word in (*options.only, BASELINE))]
    with console.status("measuring") as status:
        rows, failed = measure(kinds if options.only else list(KINDS), options, status)
    console.print(_table(rows))
    print_skipped(console, failed)
    write(options, rows, skipped=failed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
