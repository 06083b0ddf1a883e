"""Networks that learn agree with other simulators' in rates, regularity and weights, which are kept."""

import functools
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from event_ops_harness.networks.hpc_benchmark import network as hpc_benchmark
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.inhibitory_stdp import network as inhibitory_stdp
from event_ops_harness.networks.inhibitory_stdp.network import InhibitoryStdpParameters
from event_ops_harness.networks.shared.statistics import QUANTILES, learning_statistics

MODELS = {"inhibitory_stdp_brian2": InhibitoryStdpParameters, "hpc_benchmark_nest": HpcBenchmark}
QUANTITIES = ("rate_ex", "rate_in", "cv", "w_mean", *(f"w_{q:.0%}" for q in QUANTILES))
# Spikes of 0.1 s have too few intervals for a CV.
KEPT = [
    (name, quantity) for name in MODELS for quantity in QUANTITIES if (name[:3], quantity) != ("hpc", "cv")
]
SEEDS = range(1, 6)


@functools.cache
def kept(name):
    """Read the statistics that ``reference_data/simulated.py`` wrote."""
    return json.loads((Path(__file__).parents[1] / "reference_data" / f"{name}.json").read_text())


@functools.cache
def ours(name, seed):
    """Return the statistics of one run."""
    found, model = kept(name), MODELS[name](**kept(name)["model"])
    seconds = found["between"][1]
    if name == "inhibitory_stdp_brian2":
        simulation = inhibitory_stdp.simulation_of(found["neurons"], model, seed, seconds)
        state, recording = simulation.run()
        weights = inhibitory_stdp.learned(state)
    else:
        simulation = hpc_benchmark.simulation_of(model, seed, seconds)
        state, recording = simulation.run()
        weights = hpc_benchmark.learned(simulation.wiring, state, model)
    who = {"populations": tuple(found["populations"]), "between": tuple(found["between"]), "dt": model.dt}
    return learning_statistics(recording.times, recording.ids, weights, **who)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "quantity"), KEPT)
def test_agrees_with_another_simulator(name, quantity):
    """Medians are compared, since rates of hpc_benchmark have a long tail.

    Once all neurons join its bursts, 20 ms apart, synapses grow, and bursts with them: of 40 seeds here two
    reached 40 and 47 Hz, of 16 in NEST two reached 33 and 35 Hz. With the same synapses and background both
    have the same spikes: see `test_hpc_benchmark`.

    Those of two normal samples differ by 4 of their standard errors once in 16,000 tries.
    """
    theirs = [found[quantity] for found in kept(name)["runs"]]
    mine = [ours(name, seed)[quantity] for seed in SEEDS]
    error_of_median = np.sqrt(np.pi / 2 * (1 / len(theirs) + 1 / len(mine)))
    tolerance = 4 * np.std(theirs, ddof=1) * error_of_median
    assert np.median(mine) == pytest.approx(np.median(theirs), abs=tolerance)


@pytest.mark.parametrize("name", MODELS)
def test_kept_statistics_are_those_of_the_model(name):
    usual, model = MODELS[name](), kept(name)["model"]
    assert model == asdict(usual) | {"scale": model["scale"]} if "scale" in model else asdict(usual)
