"""Time the cortical microcircuit on our operators beside NEST.

Each simulator runs in a process of its own on as many cores, with as many threads, builds its network once,
simulates one stretch that is not measured, and then one stretch after the other in turns with the other.
Measured is the loop over time steps, not the building, not the compilation; spikes are counted, not recorded.
NEST refuses fewer than 3 threads at full scale: it gets 4 there, on the same cores.

From three scales on, how the time grows with the synapses; where one core is measured too, the efficiency of
more. With --parts also where the time of our step goes, and how far each part is from the STREAM triad.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import linregress

from event_ops_harness.bench.microcircuit_parts import measure_parts, parts_table
from event_ops_harness.bench.simulators import (
    Job,
    Row,
    add_rivals_python,
    cells_of,
    chosen,
    measure_in_turns,
    print_skipped_rows,
    summarize,
)
from event_ops_harness.bench.suite import Parser, amount, count, write
from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.microcircuit.rivals import NEST, OURS, nest_request
from event_ops_harness.networks.shared.rivals import Rival
from event_ops_harness.results import new_table

MAX_CONNECTIONS_PER_THREAD = 134_217_726  # of NEST


def threads_of(rival: Rival, model: Microcircuit, cores: int) -> int:
    """Return as many as cores, but for NEST as many as it asks for."""
    needed = math.ceil(int(model.synapses.sum()) / MAX_CONNECTIONS_PER_THREAD)
    return cores if rival.ours or needed <= cores else cores * math.ceil(needed / cores)


def asked_of(scale: float, options: argparse.Namespace) -> tuple[Microcircuit, dict[str, Any]]:
    """Return the model, and what a worker is told of it."""
    sizes = {"N_scaling": scale, "K_scaling": scale, "drive": options.drive}
    model = Microcircuit(**sizes)
    request = {"model": sizes, "network": nest_request(model), "steps": model.steps(options.seconds)}
    return model, request | {"seed": 1, "record": None}


def parts_of(scale: float, cores: int, options: argparse.Namespace) -> dict[str, Any]:
    """Measure where the time of our step goes, on so many cores."""
    _, request = asked_of(scale, options)
    return {"scale": scale, "cores": cores, **measure_parts(request, cores, options.rounds)}


def measure(scale: float, cores: int, options: argparse.Namespace) -> list[Row]:
    """Return one row per simulator, skipped ones with their reason."""
    model, request = asked_of(scale, options)
    jobs: list[Job] = []
    for rival in chosen((OURS, NEST), options.only):
        threads = {"threads": threads_of(rival, model, cores)}
        row: Row = {"simulator": rival.name, "scale": scale, "cores": cores, "neurons": model.neurons}
        row |= {"synapses": int(model.synapses.sum()), "drive": options.drive, **threads}
        jobs.append((rival, row, request | threads))
    measured = measure_in_turns(jobs, options.rivals_python, options.rounds, partial(keep, options.seconds))
    summarize(measured, "real_time_factors", NEST.name)
    return [row for _, row, _ in jobs]


def keep(seconds: float, row: Row, result: dict[str, Any]) -> None:
    row.setdefault("real_time_factors", []).append(result["seconds"] / seconds)
    if "peak_bytes" in result:
        row["peak_bytes"] = result["peak_bytes"]


def add_efficiencies(rows: Sequence[Row]) -> None:
    """Add efficiency = t1 / (n * tn) where the same was measured on one core; t is the best round."""
    measured = [row for row in rows if "min" in row]
    alone = {(row["simulator"], row["scale"]): row["min"] for row in measured if row["cores"] == 1}
    for row in measured:
        one = alone.get((row["simulator"], row["scale"]))
        if one is not None and row["cores"] > 1:
            row["efficiency"] = one / (row["cores"] * row["min"])


def exponents(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Fit time = factor * synapses ** exponent to the best rounds, where there are three scales or more."""

    def series(row: dict[str, Any]) -> tuple[str, int]:
        return row["simulator"], row["cores"]

    found = []
    for (simulator, cores), own in groupby(sorted((r for r in rows if "min" in r), key=series), key=series):
        points = sorted({row["synapses"]: row["min"] for row in own}.items())
        if len(points) < 3:
            continue
        sizes, times = zip(*points, strict=True)
        fit: Any = linregress(np.log(sizes), np.log(times))
        figures = {"exponent": float(fit.slope), "error": float(fit.stderr)}
        span = {"from": sizes[0], "to": sizes[-1]}
        found.append({"simulator": simulator, "cores": cores, **figures, **span})
    return found


def table_of(rows: Sequence[Row]) -> Table:
    columns = ("scale", "cores", "simulator", "min", "median", "÷ NEST", "efficiency", "build s")
    table = new_table("Microcircuit, wall clock over model time", columns, text=("simulator",))
    for row in rows:
        cells = cells_of(row, "min", "median", "ratio_median", "efficiency")
        built = f"{row['versions']['build_seconds']:.1f}" if "versions" in row else ""
        table.add_row(f"{row['scale']:g}", str(row["cores"]), row["simulator"], *cells, built)
    return table


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser("microcircuit", __doc__)
    add = parser.add_argument
    add("--scales", type=amount, nargs="+", default=(0.1,), metavar="X", help="default: 0.1")
    add("--cores", type=count, nargs="+", default=(2,), metavar="N", help="for each simulator; default: 2")
    add("--seconds", type=amount, default=1.0, metavar="S", help="model time of a stretch; default: 1")
    add("--rounds", type=count, default=5, help="default: 5")
    add("--drive", choices=("poisson", "dc"), default="poisson")
    add("--parts", action="store_true", help="measure the parts of our step, too")
    add("--only", nargs="+", default=[], metavar="WORD", help="simulators whose name contains it")
    add_rivals_python(parser, "nest-simulator")
    options = parser.parse(argv)
    if options.parts and options.drive == "dc":
        parser.error("--parts: with the constant drive there is no background to measure")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show and write; return the exit status."""
    options, console = _parse(argv), Console()
    rows, parts = list[Row](), list[dict[str, Any]]()
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
    print_skipped_rows(console, rows)
    write(options, rows, fits=fits, parts=parts)
    console.print(f"Written: {options.output.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
