"""The network with inhibitory plasticity learns as its rule says, and settles; its program runs."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from refused_options import check_one_line

from event_ops_harness.networks.inhibitory_stdp.__main__ import main
from event_ops_harness.networks.inhibitory_stdp.network import (
    InhibitoryStdpParameters,
    catalog_step,
    drawn,
    learned,
    simulation_of,
)
from event_ops_harness.networks.shared.statistics import learning_statistics

MODEL = InhibitoryStdpParameters()
NEURONS = 300


@pytest.mark.slow
@pytest.mark.parametrize("backend", [None, pytest.param("reference", marks=pytest.mark.slow)])
def test_weights_and_conductances_follow_the_spikes(backend):
    """Compare with what a plain loop makes of the spikes that the network fired, in float64."""
    model, steps = replace(MODEL, onset=2.0, learning_rate=0.2, w_max=0.4), 200
    state, synapses = drawn(NEURONS, model, seed=3)
    targets, indptr = map(np.asarray, synapses.rows)
    sources = np.repeat(np.arange(NEURONS), np.diff(indptr))
    learns = targets < model.excitatory_count(NEURONS)
    w, x, g = np.asarray(state.w, float), np.zeros(NEURONS), np.zeros(NEURONS)
    step = catalog_step(NEURONS, model, NEURONS, backend)
    scan = jax.jit(lambda state: jax.lax.scan(lambda s, _: (step(s, synapses)[0],) * 2, state, length=steps))
    last, states = scan(state)
    fired = np.asarray(states.spikes)
    for t, spikes in enumerate(fired):
        eta = model.learning_rate * (t >= round(model.onset / model.dt))
        x, g = x * np.exp(-model.dt / model.tau_stdp), g * np.exp(-model.dt / model.tau_syn_in)
        pre, post = spikes[sources], spikes[targets]
        w[pre & learns] = np.clip(w + eta * (x[targets] - model.alpha), 0, model.w_max)[pre & learns]
        np.testing.assert_allclose(states.w[t], w, atol=1e-4)
        np.add.at(g, targets[pre], w[pre])
        np.testing.assert_allclose(states.g_in[t], g, rtol=1e-4, atol=1e-3)
        x += spikes
        w[post & learns] = np.clip(w + eta * x[sources], 0, model.w_max)[post & learns]
    assert fired.sum() > 500 and (fired[:, sources] & fired[:, targets]).any()
    weights = np.asarray(last.w)[learns]
    assert (weights == 0).any() and (weights == np.float32(model.w_max)).any()
    assert (np.asarray(last.w)[~learns] == np.float32(model.weight_in)).all()


@pytest.mark.slow
def test_excitatory_neurons_settle_at_the_target():
    model = replace(MODEL, learning_rate=0.1)
    simulation = simulation_of(1000, model, 1, seconds=8.0)
    state, recording = simulation.run()
    weights = learned(simulation, state, model)
    synapses = simulation.wiring.ex.indices.size + state.w.size
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
    state, synapses = drawn(NEURONS, MODEL, seed=1)
    step = catalog_step(NEURONS, MODEL, NEURONS, "numba_cpu")

    def loop(state):
        return jax.lax.fori_loop(0, 100, lambda _, s: step(s, synapses)[0], state)

    compiled = jax.jit(loop, donate_argnums=0).lower(state).compile().as_text()
    weights = f"f32[{state.w.size}]"
    assert weights in compiled
    assert " copy(" not in "".join(line for line in compiled.splitlines() if weights in line)


def test_program_prints_the_table_and_draws_the_figure(tmp_path, capsys):
    figure = tmp_path / "a.png"
    words = "--neurons", "400", "--seconds", "1.2", "--no-progress", "--output", str(figure)
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "inhibitory plasticity" in text and "plasticity_on_pre" in text and figure.exists()


@pytest.mark.parametrize("options", ["--neurons 0", "--learning-rate -1", "--devices 2", "--backend none"])
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, options):
    check_one_line("inhibitory_stdp", main, options, tmp_path, monkeypatch, capsys)
