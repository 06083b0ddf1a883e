"""Compare single-neuron statistics with NEST's: the same model, several seeds of each.

For each population, and each of rate, interval CV and spike-count correlation: the Kolmogorov-Smirnov
distance between a run of ours and one of NEST, averaged over all such pairs, beside the distance between two
runs of NEST with different seeds. What comes out is kept in ``harness/results``.
"""

import argparse
import itertools
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from event_ops_harness.bench.results import write_found
from event_ops_harness.bench.simulators import add_rivals_python
from event_ops_harness.cuba.rivals.worker import Rival, Worker
from event_ops_harness.microcircuit.connectivity import recurrent_connectivity
from event_ops_harness.microcircuit.model import POPULATIONS, Microcircuit
from event_ops_harness.microcircuit.network import catalog_step, initial_state, wiring_of
from event_ops_harness.microcircuit.rivals.request import nest_request
from event_ops_harness.microcircuit.simulation import simulate
from event_ops_harness.microcircuit.statistics import QUANTITIES, Spikes, distributions, ks_distance

NEST = Rival("NEST", (str(Path(__file__).parent / "rivals" / "nest_worker.py"),))
OUTPUT = Path(__file__).parents[2] / "results" / "microcircuit_statistics.json"
DISCARDED = 0.5  # s
PROGRAM = "event_ops_harness.microcircuit.compare"

Distributions = dict[str, dict[str, np.ndarray]]


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="microcircuit compare", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("--scale", type=float, default=0.1, metavar="X", help="default: 0.1")
    add("--seconds", type=float, default=10.0, metavar="S", help="model time that counts; default: 10")
    add("--seeds", type=int, default=3, metavar="N", help="so many of each simulator; default: 3")
    add("--drive", choices=("poisson", "dc"), default="poisson")
    add("--threads", type=int, default=1, help="of NEST; default: 1")
    add_rivals_python(parser, "nest-simulator")
    add("--output", type=Path, default=OUTPUT, metavar="FILE", help="JSON; default: %(default)s")
    return parser


def ours(model: Microcircuit, seed: int, steps: int) -> Spikes:
    """One run of ours."""
    wiring = wiring_of(recurrent_connectivity(model, seed), seed)
    state = initial_state(model, seed)
    _, recording = simulate(model, catalog_step(model, None), state, wiring, steps=steps)
    return Spikes(recording.times, recording.ids, 0, steps)


def theirs(model: Microcircuit, seed: int, steps: int, options: argparse.Namespace) -> Spikes:
    """One run of NEST."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spikes.npz"
        request = {"network": nest_request(model), "seed": seed, "steps": steps, "record": str(path)}
        worker = Worker(NEST, options.rivals_python, {**request, "threads": options.threads})
        worker.run()
        worker.close()
        with np.load(path) as found:
            return Spikes(found["times"], found["ids"], 0, steps)


def distances(pairs: Sequence[tuple[Distributions, Distributions]]) -> dict[str, dict[str, list[float]]]:
    """By population and quantity, one distance per pair of runs."""
    return {
        name: {q: [ks_distance(a[name][q], b[name][q]) for a, b in pairs] for q in QUANTITIES}
        for name in POPULATIONS
    }


def means(runs: Sequence[Distributions]) -> dict[str, dict[str, list[float]]]:
    """By population and quantity, one mean per run."""
    return {
        name: {
            q: [float(run[name][q].mean()) if run[name][q].size else 0.0 for run in runs] for q in QUANTITIES
        }
        for name in POPULATIONS
    }


def table_of(to_nest: dict[str, Any], within_nest: dict[str, Any]) -> Table:
    table = Table(title="Kolmogorov-Smirnov distance: to NEST, and of NEST from seed to seed")
    table.add_column("population")
    for quantity in QUANTITIES:
        for heading in (quantity, "NEST"):
            table.add_column(heading, justify="right")
    for name in POPULATIONS:
        cells = [
            f"{np.mean(found[name][quantity]):.4f}"
            for quantity in QUANTITIES
            for found in (to_nest, within_nest)
        ]
        table.add_row(name, *cells)
    return table


def main(argv: Sequence[str] | None = None) -> int:
    asked = sys.argv[1:] if argv is None else argv
    parser = make_parser()
    options = parser.parse_args(asked)
    if options.seeds < 2:
        parser.error("--seeds is at least 2: NEST is compared with itself")
    model = Microcircuit(N_scaling=options.scale, K_scaling=options.scale, drive=options.drive)
    first = model.steps(DISCARDED)
    steps, seeds, console = first + model.steps(options.seconds), range(1, options.seeds + 1), Console()
    with console.status("simulating"):
        runs = [distributions(ours(model, seed, steps).after(first), model) for seed in seeds]
        nests = [distributions(theirs(model, seed, steps, options).after(first), model) for seed in seeds]
    to_nest = distances(list(itertools.product(runs, nests)))
    within_nest = distances(list(itertools.combinations(nests, 2)))
    console.print(table_of(to_nest, within_nest))
    found = {
        "ks_to_nest": to_nest,
        "ks_within_nest": within_nest,
        "means": means(runs),
        "means_nest": means(nests),
    }
    asked_for = {name: getattr(options, name) for name in ("scale", "seconds", "seeds", "drive")}
    words = " ".join(f"--{name} {value}" for name, value in asked_for.items())
    write_found(options.output, f"python -m {PROGRAM} {words}", {**asked_for, **found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
