"""The step from catalog operators, a run in one call and a loop in NumPy agree."""

import math
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from event_ops.network import Network, Record
from event_ops_harness.networks.balanced.connectivity import Connectivity, random_connectivity
from event_ops_harness.networks.balanced.network import TRACED_NEURONS
from event_ops_harness.networks.balanced.steps import CHANNELS, State
from event_ops_harness.networks.cuba import CUBA
from event_ops_harness.networks.shared import simulation

MODEL: Any = CUBA.model


def with_weights(connectivity: Connectivity) -> Connectivity:
    """The same network with a weight per synapse, in mV."""
    scale = np.where(connectivity.indices < connectivity.neurons, *connectivity.channel_scale)
    jitter = np.random.default_rng(0).uniform(0.5, 1.5, scale.size)
    return replace(connectivity, data=(scale * jitter).astype(np.float32), channel_scale=(1.0, 1.0))


def run(kind: str, connectivity: Connectivity, steps: int) -> tuple[State, np.ndarray]:
    """The last state, and who spiked: bool (steps, neurons)."""
    if kind == "one call":
        return run_in_one_call(connectivity, steps)
    step = CUBA.catalog_step(connectivity, "reference" if kind == "reference" else None)
    state, synapses = CUBA.initial_state(connectivity, 5), CUBA.synapses(connectivity)
    scan = jax.jit(lambda state: jax.lax.scan(lambda s, _: step(s, synapses), state, length=steps))
    state, (ids, counts) = scan(state)
    spikes = np.zeros((steps, connectivity.neurons), bool)
    for t, count in enumerate(counts):
        spikes[t, np.asarray(ids[t, :count])] = True
    return state, spikes


def run_in_one_call(connectivity: Connectivity, steps: int) -> tuple[State, np.ndarray]:
    """The same of the declared network."""
    declaration = CUBA.declared(connectivity, Record(spikes=99 * connectivity.neurons))
    state = declaration.state(CUBA.initial_state(connectivity, 5))
    state, recording = declaration.run(state, steps)
    spikes = np.zeros((steps, connectivity.neurons), bool)
    spikes[recording.spikes] = True
    return state.neurons, spikes


def simulate_with_numpy(connectivity: Connectivity, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The model's exact solution in float64, refractoriness counted in steps as Brian2 does."""
    n, p = connectivity.neurons, MODEL
    weights = np.zeros((n, 2 * n))
    rows = np.repeat(np.arange(n), np.diff(connectivity.indptr))
    np.add.at(weights, (rows, connectivity.indices), connectivity.data.astype(np.float64))
    weights *= np.repeat(connectivity.channel_scale, n)
    V = np.asarray(CUBA.initial_state(connectivity, 5)["V_m"], np.float64)
    g, last = np.zeros((2, n)), np.full(n, -(10**6))
    tau = np.array([[p.tau_syn_ex], [p.tau_syn_in]])
    threshold = p.V_th
    decay_m, decay_syn = math.exp(-p.dt / p.tau_m), np.exp(-p.dt / tau)
    propagator = tau / (tau - p.tau_m) * (decay_syn - decay_m)
    spikes = np.zeros((steps, n), bool)
    for t in range(steps):
        free = t - last >= round(p.t_ref / p.dt)
        V = np.where(free, p.E_L + (V - p.E_L) * decay_m + (propagator * g).sum(0), V)
        spikes[t] = free & (threshold < V)
        last[spikes[t]], V[spikes[t]] = t, p.V_reset
        g = g * decay_syn + (spikes[t] @ weights).reshape(2, n)
    return V, g, spikes


@pytest.mark.parametrize("neurons", [203, 400])
@pytest.mark.parametrize("weighted", [False, True], ids=["homogeneous", "weighted"])
@pytest.mark.parametrize("kind", ["catalog", pytest.param("reference", marks=pytest.mark.slow), "one call"])
def test_steps_follow_the_exact_solution(neurons: int, weighted: bool, kind: str):
    connectivity = random_connectivity(neurons, MODEL, seed=2)
    if weighted:
        connectivity = with_weights(connectivity)
    *_, spikes = simulate_with_numpy(connectivity, 400)
    _, ours = run(kind, connectivity, 400)
    assert spikes.sum() > neurons / 20
    # Rounding moves single spikes by a step, and the network is chaotic: compare until the first one.
    agreed = int(np.argmax((ours != spikes).any(axis=1))) if (ours != spikes).any() else 400
    assert agreed >= 150 and spikes[:agreed].any()
    state, _ = run(kind, connectivity, agreed)
    V, g, _ = simulate_with_numpy(connectivity, agreed)
    np.testing.assert_allclose(state["V_m"], V, atol=2e-3)
    np.testing.assert_allclose(
        [state[name] for name in CHANNELS], g / np.transpose([connectivity.channel_scale]), atol=2e-3
    )


def test_drive_gain_is_exact_for_a_decaying_drive():
    for tau_syn in (5.0, 10.0, 20.0, 200.0):
        time = (np.arange(200_000) + 0.5) * MODEL.dt / 200_000
        response = np.exp(-time / tau_syn) * np.exp(-(MODEL.dt - time) / MODEL.tau_m) / MODEL.tau_m
        expected = response.mean() * MODEL.dt / (1 - math.exp(-MODEL.dt / MODEL.tau_m))
        assert MODEL.drive_gain(tau_syn) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("weighted", [False, True], ids=["homogeneous", "weighted"])
def test_a_run_in_one_call_has_the_bits_of_the_steps(weighted: bool):
    connectivity = random_connectivity(403, MODEL, seed=2)
    connectivity = with_weights(connectivity) if weighted else connectivity
    (state, spikes), (end, same) = (run(kind, connectivity, 400) for kind in ("catalog", "one call"))
    assert spikes.any()
    np.testing.assert_array_equal(spikes, same)
    for name, expected in state.items():
        np.testing.assert_array_equal(end[name], expected)


@pytest.mark.slow_cases("steps")
@pytest.mark.parametrize("backend", [None, pytest.param("numba_cpu", id="steps")])
def test_recording_is_what_happened_whatever_the_chunks(monkeypatch: pytest.MonkeyPatch, backend: str | None):
    connectivity = random_connectivity(300, MODEL, seed=2)
    _, spikes = run("catalog", connectivity, 950)
    for chunk in (1000, 400, 7):
        monkeypatch.setattr(simulation, "CHUNK_STEPS", chunk)
        built = CUBA.build(connectivity, 5, 950, backend=backend)
        assert isinstance(built.step, Network) == (backend is None)
        _, recording = built.run()
        assert np.array_equal(np.stack([recording.times, recording.ids], axis=1), np.argwhere(spikes))
        assert np.array_equal(recording.counts, spikes.sum(axis=1))
        assert recording.spikes == spikes.sum() and recording.lost == 0
        assert recording.traces["V_m"].shape == (950, TRACED_NEURONS)


CROWDED = replace(CUBA, model=replace(MODEL, E_L=1000.0))


def test_crowded_steps_are_counted_in_full():
    connectivity = random_connectivity(3000, MODEL, seed=2)
    _, recording = CROWDED.build(connectivity, 5, 300, backend="numba_cpu").run()
    assert recording.lost > 0
    assert recording.spikes == recording.ids.size + recording.lost >= 3000 * 300 // 52


def test_a_run_in_one_call_loses_no_spike_of_crowded_steps():
    connectivity = random_connectivity(3000, MODEL, seed=2)
    _, recording = CROWDED.build(connectivity, 5, 1300).run()
    assert recording.lost == 0
    assert recording.spikes == recording.ids.size == recording.times.size >= 3000 * 1300 // 52
