"""The step of the COBA network and a NumPy simulation agree; its program runs and says what is wrong."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from refused_options import check_one_line

from event_ops.network import Record
from event_ops_harness.networks.balanced.connectivity import Connectivity, random_connectivity
from event_ops_harness.networks.balanced.steps import State
from event_ops_harness.networks.coba import COBA, main

MODEL: Any = COBA.model
STEPS = 400


def with_weights(connectivity: Connectivity) -> Connectivity:
    """The same network with a weight per synapse in nS; as in a file, inhibitory ones are negative."""
    excites = connectivity.indices < connectivity.neurons
    scale = np.where(excites, MODEL.weight_ex, -MODEL.weight_in)
    jitter = np.random.default_rng(0).uniform(0.5, 1.5, scale.size)
    return replace(connectivity, data=(scale * jitter).astype(np.float32), channel_scale=(1.0, 1.0))


def run(connectivity: Connectivity, backend: str | None, steps: int) -> tuple[State, np.ndarray]:
    """The last state, and who spiked: bool (steps, neurons)."""
    step, synapses = COBA.catalog_step(connectivity, backend), COBA.synapses(connectivity)
    scan = jax.jit(lambda state: jax.lax.scan(lambda s, _: step(s, synapses), state, length=steps))
    state, (ids, counts) = scan(COBA.initial_state(connectivity, 5))
    spikes = np.zeros((steps, connectivity.neurons), bool)
    for t, count in enumerate(counts):
        spikes[t, np.asarray(ids[t, :count])] = True
    return state, spikes


def test_a_run_in_one_call_has_the_bits_of_the_steps():
    connectivity = with_weights(random_connectivity(400, MODEL, seed=2))
    state, spikes = run(connectivity, None, STEPS)
    declaration = COBA.declared(connectivity, Record(spikes=STEPS * 400))
    begin = declaration.state(COBA.initial_state(connectivity, 5))
    end, recording = declaration.run(begin, STEPS, backend="numba_cpu")
    assert spikes.any()
    np.testing.assert_array_equal(np.transpose(recording.spikes), np.argwhere(spikes))
    for name, expected in state.items():
        np.testing.assert_array_equal(end.neurons[name], expected)


def simulate_with_numpy(connectivity: Connectivity, steps: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Many substeps of the model's equations in float64, refractoriness counted in steps as Brian2 does."""
    n, p, substeps = connectivity.neurons, MODEL, 20
    weights = np.zeros((n, 2 * n))
    rows = np.repeat(np.arange(n), np.diff(connectivity.indptr))
    np.add.at(weights, (rows, connectivity.indices), np.abs(connectivity.data.astype(np.float64)))
    weights *= np.repeat(connectivity.channel_scale, n)
    begin = COBA.initial_state(connectivity, 5)
    V, g_ex, g_in = (np.asarray(begin[name], np.float64) for name in ("V_m", "g_ex", "g_in"))
    last, spikes, h = np.full(n, -(10**6)), np.zeros((steps, n), bool), p.dt / substeps
    for t in range(steps):
        free = t - last >= round(p.t_ref / p.dt)
        for _ in range(substeps):
            # Trapezoidal in the conductances, which is of second order.
            ex, inh = (
                g * (1 + np.exp(-h / tau)) / 2 for g, tau in ((g_ex, p.tau_syn_ex), (g_in, p.tau_syn_in))
            )
            total = p.g_L + ex + inh
            target = (p.g_L * p.E_L + ex * p.E_ex + inh * p.E_in) / total
            V = np.where(free, target + (V - target) * np.exp(-h * total / p.C_m), V)
            g_ex, g_in = g_ex * np.exp(-h / p.tau_syn_ex), g_in * np.exp(-h / p.tau_syn_in)
        spikes[t] = free & (p.V_th < V)
        last[spikes[t]], V[spikes[t]] = t, p.V_reset
        arrived = (spikes[t] @ weights).reshape(2, n)
        g_ex, g_in = g_ex + arrived[0], g_in + arrived[1]
    return [V, g_ex, g_in], spikes


@pytest.mark.slow_cases("weighted")
@pytest.mark.parametrize("weighted", [False, True], ids=["homogeneous", "weighted"])
@pytest.mark.parametrize("backend", [None, pytest.param("reference", marks=pytest.mark.slow)])
def test_steps_follow_the_equations(weighted: bool, backend: str | None):
    connectivity = random_connectivity(403, MODEL, seed=2)
    if weighted:
        connectivity = with_weights(connectivity)
    _, spikes = simulate_with_numpy(connectivity, STEPS)
    _, ours = run(connectivity, backend, STEPS)
    assert spikes.sum() > 200
    # The error of the scheme moves single spikes by a step: compare until the first one.
    agreed = int(np.argmax((ours != spikes).any(axis=1))) if (ours != spikes).any() else STEPS
    assert agreed >= 50 and spikes[:agreed].any()
    state, _ = run(connectivity, backend, agreed)
    (V, g_ex, g_in), _ = simulate_with_numpy(connectivity, agreed)
    np.testing.assert_allclose(state["V_m"], V, atol=1e-2)
    np.testing.assert_allclose(state["g_ex"], g_ex, rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(state["g_in"], g_in, rtol=1e-4, atol=1e-2)


def test_conductances_are_updated_in_place():
    connectivity = random_connectivity(400, MODEL, seed=2)
    step, synapses = COBA.catalog_step(connectivity, "numba_cpu"), COBA.synapses(connectivity)

    def loop(state: State) -> State:
        return jax.lax.fori_loop(0, 100, lambda _, s: step(s, synapses)[0], state)

    state = COBA.initial_state(connectivity, 5)
    compiled = jax.jit(loop, donate_argnums=0).lower(state).compile().as_text()
    assert "csr_event_arrivals" in compiled
    assert " copy(" not in "".join(line for line in compiled.splitlines() if "f32[400]" in line)


def test_run_prints_the_table_and_draws_the_figure(tmp_path, capsys):
    figure = tmp_path / "a.png"
    words = "--neurons", "1000", "--seconds", "0.2", "--no-progress", "--output", str(figure)
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "COBA network" in text and "one native call" in text and figure.exists()


@pytest.mark.parametrize("options", ["--neurons 0", "--matrix missing.mtx", "--frobnicate"])
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, options):
    check_one_line("coba", main, options, tmp_path, monkeypatch, capsys)
