"""Time the CUBA network on our operators beside Brian2 C++ standalone and NEST.

Every simulator runs in a process of its own, builds its network once, and then simulates the same
stretch again and again (NEST: one stretch after the other), in turns with the others. Measured is
the loop over time steps, not the building, not the compilation; spikes are counted, not recorded.
Each simulator may use as many cores as `--cores` says, and as many threads.
Not measured: networks with delays (here a spike arrives within its step; in NEST one step later,
the shortest it knows, which makes it exchange spikes at every step).
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from event_ops_harness.bench.simulators import (
    Row,
    add_rivals_python,
    cells_of,
    chosen,
    measure_in_turns,
    print_skipped_rows,
    summarize,
)
from event_ops_harness.bench.suite import Parser, count, write
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.cuba.rivals import RIVALS
from event_ops_harness.networks.shared.rivals import Rival
from event_ops_harness.results import new_table

SIZES = (4000, 40_000, 400_000)
NEURON_STEPS = 40_000_000  # per measurement: about as long at every size
LARGE = 200_000
BASELINE = "Brian2 C++ standalone"
MODEL = CubaParameters()


def steps_for(neurons: int) -> int:
    return max(200, min(10_000, NEURON_STEPS // neurons))


def rounds_for(neurons: int, rounds: int) -> int:
    """Take fewer for large networks: Brian2 draws its synapses anew in each round, for a minute there."""
    return rounds if neurons < LARGE else min(rounds, 3)


def measure(neurons: int, rivals: Sequence[Rival], options: argparse.Namespace) -> list[Row]:
    """Return one row per simulator at this size, skipped ones with their reason."""
    steps = steps_for(neurons)
    request = {"neurons": neurons, "steps": steps, "seed": 1, "threads": options.cores}
    request["model"] = asdict(MODEL)
    rows: list[Row] = [{"simulator": rival.name, "neurons": neurons, "steps": steps} for rival in rivals]
    jobs = [(rival, row, request) for rival, row in zip(rivals, rows, strict=True)]
    rounds = rounds_for(neurons, options.rounds)
    summarize(measure_in_turns(jobs, options.rivals_python, rounds, keep), "us_per_step", BASELINE, "us_")
    return rows


def keep(row: Row, result: dict[str, Any]) -> None:
    row.setdefault("us_per_step", []).append(result["seconds"] / row["steps"] * 1e6)
    model_seconds = row["steps"] * MODEL.dt * 1e-3
    row["rate"] = result["spikes"] / (row["neurons"] * model_seconds)


def table_of(rows: Sequence[Row]) -> Table:
    columns = ("neurons", "simulator", "min µs", "median µs", "÷ Brian2", "median ÷", "Hz")
    table = new_table("CUBA network, time per 0.1 ms step", columns, text=("simulator",))
    previous = None
    for row in rows:
        if previous not in (None, row["neurons"]):
            table.add_section()
        previous = row["neurons"]
        cells = cells_of(row, "us_min", "us_median", "ratio_min", "ratio_median", "rate")
        table.add_row(f"{row['neurons']:,}", row["simulator"], *cells)
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show and write; return the exit status."""
    parser = Parser("cuba", __doc__)
    add = parser.add_argument
    add("--sizes", type=count, nargs="+", default=SIZES, metavar="N", help="neurons")
    add("--rounds", type=count, default=7, help="default: 7; at most 3 from 200,000 neurons up")
    add("--cores", type=count, default=1, help="for each simulator; default: 1")
    add("--only", nargs="+", default=[], metavar="WORD", help="simulators whose name contains it")
    add_rivals_python(parser, "brian2 and nest-simulator")
    options, console, rows = parser.parse(argv), Console(), list[Row]()
    if not options.output.parent.is_dir():
        parser.error(f"--output: folder {str(options.output.parent)!r} does not exist")
    for neurons in options.sizes:
        with console.status(f"{neurons:,} neurons"):
            rows += measure(neurons, chosen(RIVALS, options.only), options)
    console.print(table_of(rows))
    print_skipped_rows(console, rows)
    write(options, rows)
    console.print(f"Written: {options.output.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
