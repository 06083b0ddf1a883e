"""Interval statistics are right, and the network's agree with Brian2's, kept as numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

from event_ops_harness.networks.balanced.analysis import binned_rate, interval_cv, mean_rate
from event_ops_harness.networks.balanced.connectivity import random_connectivity
from event_ops_harness.networks.balanced.simulation import simulate
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.cuba.network import catalog_step, initial_state, on_device
from event_ops_harness.networks.shared.simulation import Recording

BRIAN2 = json.loads((Path(__file__).parents[1] / "reference_data" / "cuba_brian2.json").read_text())


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


def record(seed: int) -> Recording:
    model, neurons = CubaParameters(**BRIAN2["model"]), BRIAN2["neurons"]
    connectivity = random_connectivity(neurons, model, seed)
    step, state = catalog_step(connectivity, model, None), initial_state(connectivity, model, seed)
    steps = model.steps(BRIAN2["seconds"])
    return simulate(model, step, state, on_device(connectivity), steps=steps)[1]


@pytest.fixture(scope="module")
def ours() -> dict[str, list[float]]:
    """Rate and CV of a few seeds."""
    rates, cvs = [], []
    for recording in map(record, range(1, 5)):
        rates.append(mean_rate(recording.spikes, BRIAN2["neurons"], BRIAN2["seconds"]))
        cvs.append(interval_cv(recording.times, recording.ids))
    return {"rate": rates, "cv": cvs}


@pytest.mark.parametrize("quantity", ["rate", "cv"])
def test_agrees_with_brian2(ours: dict[str, list[float]], quantity: str):
    """The means of two samples from one distribution differ by 4 standard errors once in 16,000 tries."""
    theirs = [run[quantity] for run in BRIAN2["runs"]]
    spread = float(np.std(theirs, ddof=1))
    tolerance = 4 * spread * np.sqrt(1 / len(theirs) + 1 / len(ours[quantity]))
    assert np.mean(ours[quantity]) == pytest.approx(np.mean(theirs), abs=tolerance)


def test_rate_is_that_of_the_benchmark(ours: dict[str, list[float]]):
    assert 5 < np.mean(ours["rate"]) < 6
