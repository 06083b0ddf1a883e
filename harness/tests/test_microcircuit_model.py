"""The microcircuit's parameters: numbers computed by hand, and those of NEST's implementation."""

import math

import numpy as np
import pytest

from event_ops_harness.networks.microcircuit.model import (
    FULL_RATES,
    L4E,
    L23E,
    POPULATIONS,
    Microcircuit,
    ModelError,
)

FULL = Microcircuit()
TENTH = Microcircuit(N_scaling=0.1, K_scaling=0.1)


def test_sizes_and_synapses_are_those_that_nest_builds():
    assert FULL.neurons == 77169
    # 298,958,137 connections, of which one to each neuron comes from its source of background spikes.
    # It takes the logarithm of (n - 1) / n, which is off by some synapses of 45 million.
    assert abs(int(FULL.synapses.sum()) - (298_958_137 - 77_169)) < 5
    assert TENTH.neurons == 7713
    assert TENTH.sizes.tolist() == [2068, 583, 2191, 547, 485, 106, 1439, 294]


def test_synapses_of_a_projection():
    # With so many pairs log(1 - 1 / n) is -1 / n up to 1e-9: K = -log(1 - p) * n.
    assert FULL.synapses[0, 0] == pytest.approx(-math.log(1 - 0.1009) * 20683**2, rel=1e-8)
    assert FULL.synapses[POPULATIONS.index("L6I"), POPULATIONS.index("L6E")] == pytest.approx(
        -math.log(1 - 0.0658) * 2948 * 14395, rel=1e-7
    )
    assert FULL.synapses[0, 5] == 0
    assert TENTH.synapses[0, 0] == pytest.approx(FULL.synapses[0, 0] / 100, abs=0.5)


def test_weights():
    # Peak at t = 5 / 9.5 * ln 20 = 1.5767 ms: exp(-.15767) - exp(-3.1534) = .81142; times 5 / (250 * 9.5).
    assert FULL.PSC_over_PSP == pytest.approx(1 / (0.811424 * 5 / (250 * 9.5)), rel=1e-5)
    w = 87.81
    assert FULL.weights[0, 0] == pytest.approx(w, rel=1e-4)
    assert FULL.weights[0, 1] == pytest.approx(-4 * w, rel=1e-4)
    assert FULL.weights[L23E, L4E] == pytest.approx(2 * w, rel=1e-4)
    assert TENTH.weights[0, 1] == pytest.approx(-4 * w / math.sqrt(0.1), rel=1e-4)


def test_psp_of_a_weight_is_the_one_asked_for():
    t = np.linspace(0, 10, 100_001)
    shape = np.exp(-t / FULL.tau_m) - np.exp(-t / FULL.tau_syn)
    scale = FULL.tau_m * FULL.tau_syn / (FULL.C_m * (FULL.tau_m - FULL.tau_syn))
    assert (FULL.weight_ext * scale * shape).max() == pytest.approx(0.15, rel=1e-6)


def test_background():
    assert FULL.external_rates[0] == 1600 * 8
    assert TENTH.external_rates[0] == 160 * 8
    assert not Microcircuit(drive="dc").external_rates.any()
    assert not FULL.I_dc.any()
    assert Microcircuit(drive="dc").I_dc[0] == pytest.approx(0.5e-3 * 1600 * 8 * 87.81, rel=1e-4)


@pytest.mark.parametrize("drive", ["poisson", "dc"])
def test_scaling_keeps_the_mean_input(drive):
    def mean_input(model: Microcircuit) -> np.ndarray:
        in_degrees = model.synapses / (FULL.sizes * model.N_scaling)[:, None]
        arriving = (model.weights * in_degrees) @ FULL_RATES + model.weight_ext * model.external_rates
        return model.I_dc + 1e-3 * model.tau_syn * arriving

    scaled = Microcircuit(N_scaling=0.3, K_scaling=0.1, drive=drive)
    np.testing.assert_allclose(mean_input(scaled), mean_input(Microcircuit(drive=drive)), rtol=1e-4)


def test_more_neurons_have_as_many_inputs_each():
    twice = Microcircuit(N_scaling=2.0)
    assert twice.neurons == 2 * FULL.neurons
    np.testing.assert_allclose(twice.synapses, 2 * FULL.synapses, atol=1)
    np.testing.assert_array_equal(twice.weights, FULL.weights)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"drive": "ac"}, "drive is 'ac'"),
        ({"N_scaling": 0.0}, "N_scaling is 0"),
        ({"K_scaling": 1.5}, "K_scaling is 1.5"),
        ({"N_scaling": math.inf}, "N_scaling is inf"),
        ({"N_scaling": 1e-4}, "leaves a population empty"),
    ],
)
def test_wrong_parameters(wrong, message):
    with pytest.raises(ModelError, match=message):
        Microcircuit(**wrong)
