"""Benchmark: the cortical microcircuit on our operators beside NEST.

Each simulator runs in a process of its own on as many cores, with as many threads, builds its network once,
simulates one stretch that is not measured, and then one stretch after the other in turns with the other.
Measured is the loop over time steps, not the building, not the compilation; spikes are counted, not recorded.
NEST refuses fewer than 3 threads at full scale: it gets 4 there, on the same cores.

From three scales on, how the time grows with the synapses; where one core is measured too, the efficiency of
more. With --parts also where the time of our step goes, and how far each part is from the STREAM triad.
"""

import argparse
import math
import statistics
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from event_ops_harness.bench.microcircuit_growth import add_efficiencies, exponents
from event_ops_harness.bench.microcircuit_parts import measure_parts, parts_table
from event_ops_harness.bench.simulators import (
    Job,
    Row,
    add_rivals_python,
    measure_in_turns,
    median_ratio,
    print_skipped,
)
from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.microcircuit.rivals import NEST, OURS
from event_ops_harness.networks.microcircuit.rivals.request import nest_request
from event_ops_harness.networks.shared.rivals import Rival
from event_ops_harness.results import write_rows

MAX_CONNECTIONS_PER_THREAD = 134_217_726  # of NEST
OUTPUT = Path(__file__).parents[2] / "results" / "microcircuit.json"


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench microcircuit", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("--scales", type=float, nargs="+", default=(0.1,), metavar="X", help="default: 0.1")
    add("--cores", type=int, nargs="+", default=(2,), metavar="N", help="for each simulator; default: 2")
    add("--seconds", type=float, default=1.0, metavar="S", help="model time of a stretch; default: 1")
    add("--rounds", type=int, default=5, help="default: 5")
    add("--drive", choices=("poisson", "dc"), default="poisson")
    add("--parts", action="store_true", help="measure the parts of our step, too")
    add("--only", nargs="+", default=[], metavar="WORD", help="simulators whose name contains it")
    add_rivals_python(parser, "nest-simulator")
    add("--output", type=Path, default=OUTPUT, metavar="FILE", help="JSON; default: %(default)s")
    return parser


def threads_of(rival: Rival, model: Microcircuit, cores: int) -> int:
    """As many as cores, but for NEST as many as it asks for."""
    needed = math.ceil(int(model.synapses.sum()) / MAX_CONNECTIONS_PER_THREAD)
    return cores if rival.ours or needed <= cores else cores * math.ceil(needed / cores)


def asked_of(scale: float, options: argparse.Namespace) -> tuple[Microcircuit, dict[str, Any]]:
    """The model, and what a worker is told of it."""
    sizes = {"N_scaling": scale, "K_scaling": scale, "drive": options.drive}
    model = Microcircuit(**sizes)
    steps = model.steps(options.seconds)
    return model, {
        "model": sizes,
        "network": nest_request(model),
        "steps": steps,
        "seed": 1,
        "record": None,
    }


def parts_of(scale: float, cores: int, options: argparse.Namespace) -> dict[str, Any]:
    """Where the time of our step goes, on so many cores."""
    _, request = asked_of(scale, options)
    return {"scale": scale, "cores": cores, **measure_parts(request, cores, options.rounds)}


def measure(scale: float, cores: int, options: argparse.Namespace) -> list[Row]:
    """One row per simulator, skipped ones with their reason."""
    model, request = asked_of(scale, options)
    jobs: list[Job] = []
    for rival in (OURS, NEST):
        if options.only and not any(word in rival.name for word in options.only):
            continue
        threads = {"threads": threads_of(rival, model, cores)}
        row: Row = {"simulator": rival.name, "scale": scale, "cores": cores, "neurons": model.neurons}
        row |= {"synapses": int(model.synapses.sum()), "drive": options.drive, **threads}
        jobs.append((rival, row, request | threads))
    for row in measure_in_turns(jobs, options.rivals_python, options.rounds, partial(keep, options.seconds)):
        row["min"], row["median"] = min(row["real_time_factors"]), statistics.median(row["real_time_factors"])
    rows = [row for _, row, _ in jobs]
    compare(rows)
    return rows


def keep(seconds: float, row: Row, result: dict[str, Any]) -> None:
    row.setdefault("real_time_factors", []).append(result["seconds"] / seconds)
    if "peak_bytes" in result:
        row["peak_bytes"] = result["peak_bytes"]


def compare(rows: Sequence[Row]) -> None:
    """Ratios to NEST in the same rounds."""
    base = next((r for r in rows if r["simulator"] == NEST.name and "min" in r), None)
    for row in rows:
        if base is None or "min" not in row:
            continue
        row["ratio_median"] = median_ratio(row, base, "real_time_factors")


def table_of(rows: Sequence[Row]) -> Table:
    table = Table(title="Microcircuit, wall clock over model time", title_justify="left")
    for column in ("scale", "cores", "simulator", "min", "median", "÷ NEST", "efficiency", "build s"):
        table.add_column(column, justify="left" if column == "simulator" else "right")
    for row in rows:
        shown = ("min", "median", "ratio_median", "efficiency")
        cells = [f"{row[name]:.3g}" if name in row else "" for name in shown]
        built = f"{row['versions']['build_seconds']:.1f}" if "versions" in row else ""
        table.add_row(f"{row['scale']:g}", str(row["cores"]), row["simulator"], *cells, built)
    return table


def main(argv: Sequence[str] | None = None) -> int:
    asked = sys.argv[1:] if argv is None else argv
    parser = make_parser()
    options = parser.parse_args(asked)
    if min(options.rounds, *options.cores) < 1:
        parser.error("--rounds and --cores are at least 1")
    if options.parts and options.drive == "dc":
        parser.error("--parts: with the constant drive there is no background to measure")
    console, rows, parts = Console(), list[Row](), list[dict[str, Any]]()
    for scale in options.scales:
        for cores in options.cores:
            with console.status(f"scale {scale:g}, {cores} cores"):
                rows += measure(scale, cores, options)
                parts += [parts_of(scale, cores, options)] if options.parts else []
    add_efficiencies(rows)
    fits = exponents(rows)
    console.print(table_of(rows))
    for fit in fits:
        console.print(
            "{simulator}, cores {cores}: time ~ synapses ** {exponent:.2f} ± {error:.2f}".format(**fit)
        )
    if parts:
        console.print(parts_table(parts))
    print_skipped(console, rows)
    write_rows(options.output, "microcircuit", asked, rows, fits=fits, parts=parts)
    console.print(f"Written: {options.output.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
