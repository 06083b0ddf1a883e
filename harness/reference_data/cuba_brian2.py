"""Rate and CV of the CUBA network in Brian2, seed by seed: makes cuba_brian2.json.

Run from the folder harness/, with a Python that has brian2 and with g++ on the PATH:

    PYTHONPATH=. python reference_data/cuba_brian2.py
"""

import json
import platform
import tempfile
from dataclasses import asdict
from pathlib import Path

import brian2
import numpy as np
from brian2 import ms, second

from event_ops_harness.networks.balanced.analysis import interval_cv, mean_rate
from event_ops_harness.networks.balanced.rivals.brian2_worker import build_network
from event_ops_harness.networks.cuba.model import CubaParameters

NEURONS = 4000
SECONDS = 2.0
SEEDS = range(1, 13)
MODEL = CubaParameters()


def simulate(seed: int) -> dict[str, float]:
    """One C++ standalone run, compiled for its seed."""
    brian2.device.reinit()
    with tempfile.TemporaryDirectory() as folder:
        brian2.device.activate(directory=folder)
        brian2.seed(seed)
        network = build_network(NEURONS, asdict(MODEL), record=True)
        network.run(SECONDS * second)
        monitor = network["monitor"]
        times, ids = np.asarray(monitor.t / ms), np.asarray(monitor.i)
    rate = mean_rate(times.size, NEURONS, SECONDS)
    return {"seed": seed, "rate": round(rate, 4), "cv": round(interval_cv(times, ids), 4)}


def main() -> None:
    brian2.set_device("cpp_standalone", build_on_run=True)
    runs = [simulate(seed) for seed in SEEDS]
    made = {
        "script": Path(__file__).name,
        "brian2": brian2.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "neurons": NEURONS,
        "seconds": SECONDS,
        "units": {"rate": "Hz", "cv": "1, see analysis.interval_cv"},
        "model": asdict(MODEL),
        "runs": runs,
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
