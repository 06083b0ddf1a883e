"""Rate and CV of a balanced network in Brian2 or NEST, seed by seed: makes NETWORK_SIMULATOR.json.

With a Python that has the simulator, such as that of `nox -s bench`:

    python harness/reference_data/balanced.py coba nest
"""

import json
import platform
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np

from event_ops_harness.networks.balanced.network import BalancedParameters
from event_ops_harness.networks.coba import CobaParameters
from event_ops_harness.networks.cuba import CubaParameters
from event_ops_harness.networks.rivals import CYTHON, NEST
from event_ops_harness.networks.shared.rivals import Rival, Worker
from event_ops_harness.networks.shared.statistics import interval_cv, mean_rate

NEURONS = 4000
SECONDS = 2.0
SEEDS = range(1, 13)
MODELS = {"cuba": CubaParameters(), "coba": CobaParameters()}
SIMULATORS = {"brian2": CYTHON, "nest": NEST}


def simulate(network: str, model: BalancedParameters, rival: Rival, seed: int) -> tuple[dict, dict]:
    """Return the statistics of one run, and the versions that it ran under."""
    request = {"network": network, "model": asdict(model), "neurons": NEURONS, "seed": seed, "threads": 1}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "spikes.npz")
        worker = Worker(rival, sys.executable, request | {"steps": model.steps(SECONDS), "record": path})
        worker.run()
        worker.close()
        with np.load(path) as spikes:
            times, ids = spikes["times"], spikes["ids"]
    rate, cv = mean_rate(times.size, NEURONS, SECONDS), interval_cv(times, ids)
    return {"seed": seed, "rate": round(rate, 4), "cv": round(cv, 4)}, worker.versions


def main(network: str, simulator: str) -> None:
    model, rival = MODELS[network], SIMULATORS[simulator]
    runs, versions = zip(*(simulate(network, model, rival, seed) for seed in SEEDS), strict=True)
    made = {
        "command": f"python harness/reference_data/balanced.py {network} {simulator}",
        simulator: versions[0][simulator],
        "numpy": np.__version__,
        "python": platform.python_version(),
        "neurons": NEURONS,
        "seconds": SECONDS,
        "units": {"rate": "Hz", "cv": "1, see analysis.interval_cv"},
        "model": asdict(model),
        "runs": runs,
    }
    path = Path(__file__).with_name(f"{network}_{simulator}.json")
    path.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
