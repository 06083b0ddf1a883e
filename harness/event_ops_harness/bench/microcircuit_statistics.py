"""Compare single-neuron statistics with NEST's: the same model, several seeds of each.

For each population, and each of rate, interval CV and spike-count correlation: the Kolmogorov-Smirnov
distance between a run of ours and one of NEST, averaged over all such pairs, beside the distance between two
runs of NEST with different seeds and between two of ours; `statistics.py` says whether they are further
apart than chance has it. What comes out is kept in ``harness/results``.
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

from event_ops_harness.bench.simulators import rivals_python
from event_ops_harness.networks.microcircuit.connectivity import recurrent_connectivity
from event_ops_harness.networks.microcircuit.declared import simulation
from event_ops_harness.networks.microcircuit.model import POPULATIONS, Microcircuit
from event_ops_harness.networks.microcircuit.statistics import (
    MAX_RUNS,
    QUANTITIES,
    Spikes,
    distributions,
    ks_distance,
    p_values,
)
from event_ops_harness.networks.rivals import NEST, microcircuit_request
from event_ops_harness.networks.shared.cli import positive, positive_int
from event_ops_harness.networks.shared.rivals import Worker
from event_ops_harness.results import RESULTS, new_table, write_results

DISCARDED = 0.5  # s
PROGRAM = "event_ops_harness.bench.microcircuit_statistics"

Distributions = dict[str, dict[str, np.ndarray]]


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m {PROGRAM}", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    output = RESULTS / "microcircuit_statistics.json"
    add("--output", type=Path, default=output, metavar="FILE", help="JSON; default: %(default)s")
    add("--scale", type=positive, default=0.1, metavar="X", help="default: 0.1")
    add("--seconds", type=positive, default=10.0, metavar="S", help="model time that counts; default: 10")
    add("--seeds", type=positive_int, default=3, metavar="N", help="so many of each simulator; default: 3")
    add("--drive", choices=("poisson", "dc"), default="poisson")
    add("--threads", type=positive_int, default=1, help="of NEST; default: 1")
    python = "has nest-simulator; default: $CUBA_RIVALS_PYTHON, else this one"
    add("--rivals-python", default=rivals_python(), metavar="PYTHON", help=python)
    add("--keep", type=Path, metavar="FOLDER", help="keep NEST's spikes there, and use those that are")
    return parser


def ours(model: Microcircuit, seed: int, steps: int) -> Spikes:
    """Simulate one run of ours."""
    _, recording = simulation(model, recurrent_connectivity(model, seed), seed, steps).run()
    return Spikes(recording.times, recording.ids, 0, steps)


def theirs(model: Microcircuit, seed: int, steps: int, options: argparse.Namespace) -> Spikes:
    """Read a run of NEST that was kept, or simulate it."""
    with tempfile.TemporaryDirectory() as folder:
        name = f"nest-{options.scale:g}-{options.drive}-{steps}-{seed}.npz"
        path = (options.keep or Path(folder)) / name
        if not path.exists():
            run_nest(model, seed, steps, options, path)
        with np.load(path) as stored:
            return Spikes(stored["times"], stored["ids"], 0, steps)


def run_nest(model: Microcircuit, seed: int, steps: int, options: argparse.Namespace, path: Path) -> None:
    """Let NEST simulate, and write the spikes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    request = microcircuit_request(model, seed, steps, options.threads)
    worker = Worker(NEST, options.rivals_python, {**request, "record": str(path)})
    worker.run()
    worker.close()


def distances(runs: Sequence[Distributions], name: str, quantity: str) -> np.ndarray:
    """Return (runs, runs), the distances between the distributions of a quantity in a population."""
    matrix = np.zeros((len(runs), len(runs)))
    for (i, a), (j, b) in itertools.combinations(enumerate(runs), 2):
        matrix[i, j] = matrix[j, i] = ks_distance(a[name][quantity], b[name][quantity])
    return matrix


def verdicts(runs: Sequence[Distributions], nests: Sequence[Distributions]) -> list[dict[str, Any]]:
    """Return one row per population and quantity: distances of all pairs of runs, and the p-values."""
    pairs = [(name, quantity) for name in POPULATIONS for quantity in QUANTITIES]
    matrices = np.array([distances([*runs, *nests], *pair) for pair in pairs])
    upper = np.triu_indices(len(runs), 1)
    return [
        {
            "population": name,
            "quantity": quantity,
            "ks_to_nest": matrix[: len(runs), len(runs) :].ravel().tolist(),
            "ks_within_nest": matrix[len(runs) :, len(runs) :][upper].tolist(),
            "ks_within_ours": matrix[: len(runs), : len(runs)][upper].tolist(),
            "p": p,
            "p_adjusted": adjusted,
        }
        for (name, quantity), matrix, p, adjusted in zip(pairs, matrices, *p_values(matrices), strict=True)
    ]


def means(runs: Sequence[Distributions]) -> dict[str, dict[str, list[float]]]:
    """Return one mean per run, by population and quantity."""
    return {
        name: {
            q: [float(run[name][q].mean()) if run[name][q].size else 0.0 for run in runs] for q in QUANTITIES
        }
        for name in POPULATIONS
    }


def table_of(rows: Sequence[dict[str, Any]]) -> Table:
    title = "Kolmogorov-Smirnov distance: to NEST, and from seed to seed"
    columns = ("population", "quantity", "to NEST", "NEST", "ours", "p", "adjusted")
    table = new_table(title, columns, text=("population", "quantity"))
    for row in rows:
        ks = (f"{np.mean(row[f'ks_{name}']):.4f}" for name in ("to_nest", "within_nest", "within_ours"))
        table.add_row(row["population"], row["quantity"], *ks, f"{row['p']:.3f}", f"{row['p_adjusted']:.3f}")
    return table


def main(argv: Sequence[str] | None = None) -> int:
    parser = make_parser()
    options = parser.parse_args(argv)
    if not 2 <= options.seeds <= MAX_RUNS:
        parser.error(f"--seeds {options.seeds}: NEST is compared with itself, so from 2 to {MAX_RUNS}")
    model = Microcircuit(N_scaling=options.scale, K_scaling=options.scale, drive=options.drive)
    first = model.steps(DISCARDED)
    steps, seeds, console = first + model.steps(options.seconds), range(1, options.seeds + 1), Console()
    with console.status("simulating"):
        runs = [distributions(ours(model, seed, steps).after(first), model) for seed in seeds]
        nests = [distributions(theirs(model, seed, steps, options).after(first), model) for seed in seeds]
    rows = verdicts(runs, nests)
    console.print(table_of(rows))
    figures = {"rows": rows, "means": means(runs), "means_nest": means(nests)}
    settings = {name: getattr(options, name) for name in ("scale", "seconds", "seeds", "drive")}
    words = " ".join(f"--{name} {value}" for name, value in settings.items())
    write_results(options.output, f"python -m {PROGRAM} {words}", {**settings, **figures})
    return 0


if __name__ == "__main__":
    sys.exit(main())
