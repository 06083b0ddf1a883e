"""Rates, CV and weights of networks that learn in Brian2 or NEST: makes NETWORK_SIMULATOR.json.

With a Python that has the simulator, such as that of `nox -s bench`; one that was cut off goes on:

    python harness/reference_data/learning.py inhibitory_stdp brian2
    python harness/reference_data/learning.py hpc_benchmark nest
"""

import json
import platform
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np

from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.inhibitory_stdp.network import InhibitoryStdpParameters
from event_ops_harness.networks.rivals import NEST, STANDALONE, hpc_benchmark_request
from event_ops_harness.networks.shared.rivals import Worker
from event_ops_harness.networks.shared.statistics import learning_statistics

SEEDS = {"inhibitory_stdp": range(1, 9), "hpc_benchmark": range(1, 17)}
NEURONS = 10_000  # of inhibitory_stdp
BALANCED, HPC = InhibitoryStdpParameters(), HpcBenchmark(scale=0.3)
BETWEEN = {"inhibitory_stdp": (5.0, 10.0), "hpc_benchmark": (0.05, 0.15)}  # s, spikes that count
SOURCES = 100  # of hpc_benchmark: how many neurons' synapses count


def request(network: str, seed: int) -> dict:
    """Return what the worker is asked for."""
    seconds = BETWEEN[network][1]
    if network == "hpc_benchmark":
        return hpc_benchmark_request(HPC, seed, seconds, threads=1) | {"sources": SOURCES}
    asked = {"network": network, "model": asdict(BALANCED), "neurons": NEURONS, "seed": seed, "threads": 1}
    return asked | {"steps": BALANCED.steps(seconds)}


def simulate(network: str, seed: int, **who) -> tuple[dict[str, float], dict]:
    """Return the statistics of one run, and the versions that it ran under."""
    rival = NEST if network == "hpc_benchmark" else STANDALONE
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "spikes.npz")
        worker = Worker(rival, sys.executable, request(network, seed) | {"record": path})
        worker.run()
        worker.close()
        with np.load(path) as found:
            said = learning_statistics(found["times"], found["ids"], found["w"], **who)
    if network == "hpc_benchmark":
        del said["cv"]  # 0.1 s have too few intervals
    return {"seed": seed} | {name: round(x, 4) for name, x in said.items()}, worker.versions


def main(network: str, simulator: str) -> None:
    """Go on from the runs that are there, if they are of this model."""
    path = Path(__file__).with_name(f"{network}_{simulator}.json")
    model = HPC if network == "hpc_benchmark" else BALANCED
    neurons = HPC.neurons if network == "hpc_benchmark" else NEURONS
    excitatory = HPC.excitatory if network == "hpc_benchmark" else BALANCED.excitatory_count(NEURONS)
    found = json.loads(path.read_text()) if path.exists() else {}
    runs = found["runs"] if found.get("model") == asdict(model) else []
    who = {"populations": (excitatory, neurons - excitatory), "between": BETWEEN[network]}
    for seed in SEEDS[network][len(runs) :]:
        run, versions = simulate(network, seed, **who, dt=model.dt)
        runs.append(run)
        made = {
            "command": f"python harness/reference_data/learning.py {network} {simulator}",
            simulator: versions[simulator],
            "numpy": np.__version__,
            "python": platform.python_version(),
            "neurons": neurons,
            **who,
            "units": {"rate": "Hz", "cv": "1, see analysis.interval_cv", "w": "nS or pA, at the end"},
            "model": asdict(model),
            "runs": runs,
        }
        path.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
