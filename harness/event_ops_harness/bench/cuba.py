"""Benchmark: the CUBA network on our operators beside Brian2 C++ standalone and NEST.

Every simulator runs in a process of its own, builds its network once, and then simulates the same
stretch again and again (NEST: one stretch after the other), in turns with the others. Measured is
the loop over time steps, not the building, not the compilation; spikes are counted, not recorded.
Each simulator may use as many cores as `--cores` says, and as many threads.
Not measured: networks with delays (here a spike arrives within its step; in NEST one step later,
the shortest it knows, which makes it exchange spikes at every step).
"""

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from event_ops_harness.bench.simulators import (
    Row,
    add_rivals_python,
    measure_in_turns,
    median_ratio,
    print_skipped,
)
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.cuba.rivals import RIVALS
from event_ops_harness.networks.shared.rivals import Rival
from event_ops_harness.results import write_rows

SIZES = (4000, 40_000, 400_000)
NEURON_STEPS = 40_000_000  # per measurement: about as long at every size
LARGE = 200_000
BASELINE = "Brian2 C++ standalone"
OUTPUT = Path(__file__).parents[2] / "results" / "cuba.json"
MODEL = CubaParameters()


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench cuba", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="neurons")
    add("--rounds", type=int, default=7, help="default: 7; at most 3 from 200,000 neurons up")
    add("--cores", type=int, default=1, help="for each simulator; default: 1")
    add("--only", nargs="+", default=[], metavar="WORD", help="simulators whose name contains it")
    add_rivals_python(parser, "brian2 and nest-simulator")
    add("--output", type=Path, default=OUTPUT, metavar="FILE", help="JSON; default: %(default)s")
    return parser


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser()
    options = parser.parse_args(argv)
    if min(options.rounds, options.cores, *options.sizes) < 1:
        parser.error("--rounds, --cores and --sizes are at least 1")
    if not options.output.parent.is_dir():
        parser.error(f"--output: folder {str(options.output.parent)!r} does not exist")
    return options


def steps_for(neurons: int) -> int:
    return max(200, min(10_000, NEURON_STEPS // neurons))


def rounds_for(neurons: int, rounds: int) -> int:
    """Fewer for large networks: Brian2 draws its synapses anew in each round, for a minute there."""
    return rounds if neurons < LARGE else min(rounds, 3)


def measure(neurons: int, rivals: Sequence[Rival], options: argparse.Namespace) -> list[Row]:
    """One row per simulator at this size, skipped ones with their reason."""
    steps = steps_for(neurons)
    request = {"neurons": neurons, "steps": steps, "seed": 1, "threads": options.cores}
    request["model"] = asdict(MODEL)
    rows: list[Row] = [{"simulator": rival.name, "neurons": neurons, "steps": steps} for rival in rivals]
    jobs = [(rival, row, request) for rival, row in zip(rivals, rows, strict=True)]
    for row in measure_in_turns(jobs, options.rivals_python, rounds_for(neurons, options.rounds), keep):
        row["us_min"], row["us_median"] = min(row["us_per_step"]), statistics.median(row["us_per_step"])
    compare(rows)
    return rows


def keep(row: Row, result: dict[str, Any]) -> None:
    row.setdefault("us_per_step", []).append(result["seconds"] / row["steps"] * 1e6)
    model_seconds = row["steps"] * MODEL.dt * 1e-3
    row["rate"] = result["spikes"] / (row["neurons"] * model_seconds)


def compare(rows: Sequence[Row]) -> None:
    """Ratios to Brian2 in the same rounds: of the minima, and the median of the ratios by round."""
    base = next((r for r in rows if r["simulator"] == BASELINE and "us_min" in r), None)
    for row in rows:
        if base is None or "us_min" not in row:
            continue
        row["ratio_min"] = row["us_min"] / base["us_min"]
        row["ratio_median"] = median_ratio(row, base, "us_per_step")


def table_of(rows: Sequence[Row]) -> Table:
    table = Table(title="CUBA network, time per 0.1 ms step", title_justify="left")
    for column in ("neurons", "simulator", "min µs", "median µs", "÷ Brian2", "median ÷", "Hz"):
        table.add_column(column, justify="left" if column == "simulator" else "right")
    previous = None
    for row in rows:
        if previous not in (None, row["neurons"]):
            table.add_section()
        previous = row["neurons"]
        numbers = ("us_min", "us_median", "ratio_min", "ratio_median", "rate")
        cells = [f"{row[name]:.3g}" if name in row else "" for name in numbers]
        table.add_row(f"{row['neurons']:,}", row["simulator"], *cells)
    return table


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(argv)
    wanted = [r for r in RIVALS if not options.only or any(w in r.name for w in options.only)]
    console, rows = Console(), list[Row]()
    for neurons in options.sizes:
        with console.status(f"{neurons:,} neurons"):
            rows += measure(neurons, wanted, options)
    console.print(table_of(rows))
    print_skipped(console, rows)
    asked = sys.argv[1:] if argv is None else argv
    write_rows(options.output, "cuba", asked, rows)
    console.print(f"Written: {options.output.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
