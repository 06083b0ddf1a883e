"""The network with inhibitory plasticity learns as its rule says, and settles; its program runs."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from refused_options import check_one_line

from event_ops.network import Network, Record
from event_ops_harness.networks.balanced.connectivity import random_connectivity
from event_ops_harness.networks.inhibitory_stdp.__main__ import main
from event_ops_harness.networks.inhibitory_stdp.network import (
    InhibitoryStdpParameters,
    first_state,
    learned,
    simulation_of,
    stages,
    synapses_of,
)
from event_ops_harness.networks.shared.statistics import learning_statistics

MODEL = InhibitoryStdpParameters()
NEURONS = 300


def networks(model, seed, states=None):
    """Return the networks by the step from which on they run, and the first state."""
    synapses = synapses_of(random_connectivity(NEURONS, model, seed), model)
    by_step = stages(synapses, model, Record(spikes=NEURONS, states=states))
    return by_step, first_state(by_step[0], model, seed)


@pytest.mark.slow
def test_weights_and_conductances_follow_the_spikes():
    """Compare with what a plain loop makes of the spikes that the network fired, in float64."""
    model, steps = replace(MODEL, onset=2.0, learning_rate=0.2, w_max=0.4), 200
    by_step, state = networks(model, 3, {"g_in": range(NEURONS)})
    _, fixed, A = (part.A for part in by_step[0].projections)
    sources, targets = np.repeat(np.arange(NEURONS), np.diff(A.indptr)), np.asarray(A.indices)
    w, x, g = np.zeros(A.nse), np.zeros(NEURONS), np.zeros(NEURONS)
    run, both = jax.jit(Network.run, static_argnums=2), 0
    onset = round(model.onset / model.dt)
    for t in range(steps):
        state, recording = run(by_step[0 if t < onset else onset], state, 1)
        spikes = np.zeros(NEURONS, bool)
        spikes[recording.spikes[1]] = True
        eta = model.learning_rate * (t >= onset)
        x, g = x * np.exp(-model.dt / model.tau_stdp), g * np.exp(-model.dt / model.tau_syn_in)
        pre, post = spikes[sources], spikes[targets]
        w[pre] = np.clip(w + eta * (x[targets] - model.alpha), 0, model.w_max)[pre]
        np.add.at(g, targets[pre], w[pre])
        g += np.asarray(fixed.todense()).T @ spikes
        np.testing.assert_allclose(recording.states["g_in"][0], g, rtol=1e-4, atol=1e-3)
        x += spikes
        w[post] = np.clip(w + eta * x[sources], 0, model.w_max)[post]
        np.testing.assert_allclose(learned(state), w, atol=1e-4)
        both += (pre & post).sum()
    assert both > 0 and (learned(state) == 0).any() and (learned(state) == np.float32(model.w_max)).any()


@pytest.mark.slow
def test_excitatory_neurons_settle_at_the_target():
    model = replace(MODEL, learning_rate=0.1)
    simulation = simulation_of(1000, model, 1, seconds=8.0)
    state, recording = simulation.run()
    weights = learned(state)
    synapses = sum(part.A.nse for part in simulation.wiring.projections)
    assert synapses == pytest.approx(1000 * model.inputs_per_neuron, rel=0.01)
    spikes, who = (recording.times, recording.ids, weights), {"populations": (800, 200), "dt": model.dt}
    before, after = (learning_statistics(*spikes, **who, between=s) for s in ((0.5, 1.0), (5.0, 8.0)))
    assert before["rate_ex"] > 30 * model.rate_target
    assert 0.8 * model.rate_target < after["rate_ex"] < 2 * model.rate_target
    assert weights.min() >= 0 and weights.max() < 20


def test_a_seed_says_what_is_drawn():
    one, same, other = (simulation_of(NEURONS, MODEL, seed, seconds=0.1).run()[1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.ids, same.ids)
    assert not np.array_equal(one.ids, other.ids)


def test_weights_change_in_place():
    by_step, state = networks(MODEL, 1)
    run = jax.jit(Network.run, static_argnums=2, donate_argnums=1)
    compiled = run.lower(by_step[0], state, 100).compile().as_text()
    weights = f"f32[{learned(state).size}]"
    assert weights in compiled
    assert " copy(" not in "".join(line for line in compiled.splitlines() if weights in line)


def test_program_prints_the_table_and_draws_the_figure(tmp_path, capsys):
    figure = tmp_path / "a.png"
    words = "--neurons", "400", "--seconds", "1.2", "--no-progress", "--output", str(figure)
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "inhibitory plasticity" in text and "network_run" in text and figure.exists()


@pytest.mark.parametrize("options", ["--neurons 0", "--learning-rate -1", "--devices 2", "--backend none"])
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, options):
    check_one_line("inhibitory_stdp", main, options, tmp_path, monkeypatch, capsys)
