"""Statistics of single neurons: of trains whose rates, CVs and correlations are known."""

import numpy as np
import pytest

from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.microcircuit.statistics import (
    Spikes,
    count_correlations,
    neuron_cvs,
    neuron_rates,
)


def test_rates_and_cvs_of_known_trains():
    model = Microcircuit(N_scaling=0.002)
    times, ids = np.array([100, 200, 300, 400, 110, 130, 190, 120]), np.array([0, 0, 0, 0, 1, 1, 1, 2])
    spikes = Spikes(times, ids, 0, 1000)
    np.testing.assert_allclose(neuron_rates(spikes, model)[:4], [40, 30, 10, 0])
    cvs = neuron_cvs(spikes, model)
    assert cvs[0] == 0
    assert cvs[1] == pytest.approx(np.std([20, 60]) / 40)
    assert np.isnan(cvs[2:]).all()
    assert neuron_rates(spikes.after(150), model)[1] == pytest.approx(1 / 0.085)


def test_correlations_of_known_trains():
    """Neurons 0 and 1 spike together, 2 in the other bins; 3 is silent, so left out."""
    together, other = np.arange(0, 1000, 40), np.arange(20, 1000, 40)
    times = np.concatenate([together, together + 3, other])
    ids = np.repeat([0, 1, 2], [together.size, together.size, other.size])
    found = count_correlations(Spikes(times, ids, 0, 1000), 0, 4, 0.1)
    np.testing.assert_allclose(found, [1, -1, -1], atol=1e-12)
    assert count_correlations(Spikes(times, ids, 0, 1000), 3, 4, 0.1).size == 0
