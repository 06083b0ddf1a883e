"""Rates, regularity and weights of networks in Brian2 or NEST, seed by seed: makes NETWORK_SIMULATOR.json.

With a Python that has the simulator, such as that of `nox -s bench`; one that was cut off goes on:

    python harness/reference_data/simulated.py coba nest
    python harness/reference_data/simulated.py inhibitory_stdp brian2
    python harness/reference_data/simulated.py hpc_benchmark nest
"""

import json
import platform
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from event_ops_harness.networks.coba import CobaParameters
from event_ops_harness.networks.cuba import CubaParameters
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.inhibitory_stdp.network import InhibitoryStdpParameters
from event_ops_harness.networks.rivals import CYTHON, NEST, STANDALONE, hpc_benchmark_request
from event_ops_harness.networks.shared.rivals import Worker
from event_ops_harness.networks.shared.statistics import interval_cv, learning_statistics, mean_rate

SOURCES = 100  # of hpc_benchmark: how many neurons' synapses count


class Runs(NamedTuple):
    """Describe the runs of a network: its model, size, duration and seeds."""

    model: Any
    neurons: int
    seconds: float
    seeds: range
    excitatory: int = 0  # neurons, in a network that learns
    since: float = 0.0  # s; earlier spikes do not count


HPC, LEARNING = HpcBenchmark(scale=0.3), InhibitoryStdpParameters()
NETWORKS = {
    "cuba": Runs(CubaParameters(), 4000, 2.0, range(1, 13)),
    "coba": Runs(CobaParameters(), 4000, 2.0, range(1, 13)),
    "inhibitory_stdp": Runs(LEARNING, 10_000, 10.0, range(1, 9), LEARNING.excitatory_count(10_000), 5.0),
    "hpc_benchmark": Runs(HPC, HPC.neurons, 0.15, range(1, 17), HPC.excitatory, 0.05),
}


def simulate(network: str, simulator: str, seed: int) -> tuple[Any, dict]:
    """Return the spikes and weights of one run, and the versions that it ran under."""
    model, neurons, seconds, *_ = NETWORKS[network]
    if network == "hpc_benchmark":
        request = hpc_benchmark_request(model, seed, seconds, threads=1) | {"sources": SOURCES}
    else:
        request = {"network": network, "model": asdict(model), "neurons": neurons, "seed": seed, "threads": 1}
        request["steps"] = model.steps(seconds)
    brian2 = STANDALONE if network == "inhibitory_stdp" else CYTHON
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "spikes.npz")
        rival = {"brian2": brian2, "nest": NEST}[simulator]
        worker = Worker(rival, sys.executable, request | {"record": path})
        worker.run()
        worker.close()
        with np.load(path) as arrays:
            return dict(arrays), worker.versions


def statistics(network: str, recorded: Any, which: dict[str, Any]) -> dict[str, float]:
    """Return the statistics of one run; `which` spikes count in a network that learns."""
    if network in ("cuba", "coba"):
        rate = mean_rate(recorded["times"].size, NETWORKS[network].neurons, NETWORKS[network].seconds)
        return {"rate": rate, "cv": interval_cv(recorded["times"], recorded["ids"])}
    said = learning_statistics(
        recorded["times"], recorded["ids"], recorded["w"], **which, dt=NETWORKS[network].model.dt
    )
    if network == "hpc_benchmark":
        del said["cv"]  # 0.1 s have too few intervals
    return said


def main(network: str, simulator: str) -> None:
    """Go on from the runs that are there, if they are of this model."""
    path, options = Path(__file__).with_name(f"{network}_{simulator}.json"), NETWORKS[network]
    kept = json.loads(path.read_text()) if path.exists() else {}
    runs = kept["runs"] if kept.get("model") == asdict(options.model) else []
    populations = options.excitatory, options.neurons - options.excitatory
    which = {"populations": populations, "between": (options.since, options.seconds)}
    for seed in options.seeds[len(runs) :]:
        recorded, versions = simulate(network, simulator, seed)
        said = statistics(network, recorded, which)
        runs.append({"seed": seed} | {name: round(x, 4) for name, x in said.items()})
        made = {
            "command": f"python harness/reference_data/simulated.py {network} {simulator}",
            simulator: versions[simulator],
            "numpy": np.__version__,
            "python": platform.python_version(),
            "neurons": options.neurons,
            **(which if options.excitatory else {"seconds": options.seconds}),
            "units": {"rate": "Hz", "cv": "1, see shared.statistics", "w": "nS or pA, at the end"},
            "model": asdict(options.model),
            "runs": runs,
        }
        path.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
