"""Interval statistics are right, and those of both networks agree with other simulators', kept as numbers."""

import functools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from event_ops_harness.networks.balanced.connectivity import random_connectivity
from event_ops_harness.networks.balanced.steps import BalancedNetwork
from event_ops_harness.networks.coba import COBA
from event_ops_harness.networks.cuba import CUBA
from event_ops_harness.networks.shared.statistics import binned_rate, interval_cv, mean_rate

KEPT = ((CUBA, "brian2"), (COBA, "brian2"), (COBA, "nest"))
NAMES = [f"{network.name}_{simulator}" for network, simulator in KEPT]
SEEDS = range(1, 5)


def test_cv_of_a_clock_is_0_and_of_a_poisson_process_1():
    clock = np.tile(np.arange(100.0), 3)
    assert interval_cv(clock, np.repeat([4, 0, 9], 100)) == pytest.approx(0, abs=1e-12)
    rng = np.random.default_rng(0)
    poisson = np.cumsum(rng.exponential(size=(20, 5000)), axis=1)
    ids = np.repeat(np.arange(20), 5000)
    shuffled = rng.permutation(ids.size)
    assert interval_cv(poisson.ravel()[shuffled], ids[shuffled]) == pytest.approx(1, abs=0.01)


def test_cv_leaves_out_neurons_with_few_intervals():
    times, ids = np.array([0.0, 1, 2, 3, 0, 5]), np.array([0, 0, 0, 0, 1, 1])
    assert interval_cv(times, ids, min_intervals=3) == 0
    assert np.isnan(interval_cv(times, ids, min_intervals=4))
    assert np.isnan(interval_cv(times[:0], ids[:0]))


def test_rates():
    assert mean_rate(spikes=400, neurons=100, seconds=2.0) == 2.0
    rate = binned_rate(np.array([1, 0, 3, 2, 9]), steps_per_bin=2, neurons=10, dt=0.1)
    np.testing.assert_allclose(rate, [500, 2500])


def kept(network: BalancedNetwork, simulator: str) -> dict[str, Any]:
    """Read the statistics that ``reference_data/simulated.py`` found."""
    folder = Path(__file__).parents[1] / "reference_data"
    return json.loads((folder / f"{network.name}_{simulator}.json").read_text())


@functools.cache
def ours(network: BalancedNetwork, neurons: int, seconds: float, seed: int) -> dict[str, float]:
    """Rate and CV of one run."""
    connectivity = random_connectivity(neurons, network.model, seed)
    _, recording = network.build(connectivity, seed, network.model.steps(seconds)).run()
    rate = mean_rate(recording.spikes, neurons, seconds)
    return {"rate": rate, "cv": interval_cv(recording.times, recording.ids)}


@pytest.mark.slow
@pytest.mark.parametrize("quantity", ["rate", "cv"])
@pytest.mark.parametrize(("network", "simulator"), KEPT, ids=NAMES)
def test_agrees_with_other_simulators(network: BalancedNetwork, simulator: str, quantity: str):
    """The means of two samples from one distribution differ by 4 standard errors once in 16,000 tries."""
    found = kept(network, simulator)
    network = replace(network, model=type(network.model)(**found["model"]))
    mine = [ours(network, found["neurons"], found["seconds"], seed)[quantity] for seed in SEEDS]
    theirs = [run[quantity] for run in found["runs"]]
    spread = float(np.std(theirs, ddof=1))
    tolerance = 4 * spread * np.sqrt(1 / len(theirs) + 1 / len(mine))
    assert np.mean(mine) == pytest.approx(np.mean(theirs), abs=tolerance)


@pytest.mark.parametrize(("network", "simulator"), KEPT, ids=NAMES)
def test_kept_statistics_are_those_of_the_model(network: BalancedNetwork, simulator: str):
    assert type(network.model)(**kept(network, simulator)["model"]) == network.model


@pytest.mark.parametrize(("network", "low", "high"), [(CUBA, 5, 6), (COBA, 15, 23)], ids=["cuba", "coba"])
def test_rate_is_that_of_the_benchmark(network: BalancedNetwork, low: float, high: float):
    rates = [ours(network, 4000, 2.0, seed)["rate"] for seed in SEEDS]
    assert low < np.mean(rates) < high
