"""The network with STDP: its synapses, its membranes and what it learns are those of plain loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from nest_programs import ask_nest

import event_ops
from event_ops.network import Network, Record
from event_ops_harness.networks.hpc_benchmark.__main__ import main
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark, connect, drawn_network
from event_ops_harness.networks.hpc_benchmark.network import declared, first_state

MODEL = HpcBenchmark(scale=0.02)
STEPS = 400


def test_weight_and_rate_are_those_of_the_example_of_nest():
    full = HpcBenchmark()
    assert (full.neurons, full.excitatory, full.delay_steps) == (11_250, 9000, 15)
    peak = max(
        (scipy.linalg.expm(decay(full) * t) @ [0, 0, np.e / full.tau_syn])[0] for t in np.arange(1, 3, 0.01)
    )
    assert full.weight * peak == pytest.approx(full.psp, rel=1e-4)
    current = full.rate_outside * 1e-3 * full.weight * np.e * full.tau_syn
    assert current * full.tau_m / full.C_m == pytest.approx(full.eta * full.V_th)


def decay(model):
    """The matrix A of d(V, I, r)/dt = A (V, I, r)."""
    m, s = model.tau_m, model.tau_syn
    return np.array([[-1 / m, 1 / model.C_m, 0], [0, -1 / s, 1], [0, 0, -1 / s]])


def test_propagator_is_the_exponential():
    np.testing.assert_allclose(MODEL.propagator(), scipy.linalg.expm(decay(MODEL) * MODEL.dt), rtol=1e-12)


def test_each_neuron_has_its_inputs_and_none_from_itself():
    n, ex = MODEL.neurons, MODEL.excitatory
    counts = (ex, 0), (ex, 0), (MODEL.inhibitory, ex)
    for wires, (inputs, start) in zip(drawn_network(MODEL, seed=1), counts, strict=True):
        sources = np.repeat(np.arange(n), np.diff(wires.indptr))
        into = np.bincount(wires.targets, minlength=n)
        assert set(into) <= {0, inputs} and sources.min() >= start
        assert (sources != wires.targets).all()
        np.testing.assert_array_equal(sources[wires.permutation], wires.sources)
        columns = np.repeat(np.arange(n), np.diff(wires.indptr_in))
        np.testing.assert_array_equal(wires.targets[wires.permutation], columns)


def test_all_sources_are_as_likely():
    wires = connect(30, range(20), range(30), 2000, np.random.default_rng(0))
    found = np.zeros((20, 30))
    np.add.at(found, (np.repeat(np.arange(20), np.diff(wires.indptr[:21])), wires.targets), 1)
    own = np.eye(20, 30, dtype=bool)
    assert not found[own].any()
    expected = np.where(np.arange(30) < 20, 2000 / 19, 2000 / 20)
    assert (np.abs(found - expected)[~own] < 6 * np.sqrt(expected.max())).all()


@pytest.mark.slow
def test_weights_and_membranes_follow_the_spikes():
    """Compare with what a plain loop makes of the spikes, which leave when synapses meet them."""
    declaration = declared(MODEL, 2, Record(spikes=MODEL.neurons))
    state, n, delay = first_state(declaration, MODEL, 2), MODEL.neurons, MODEL.delay_steps
    matrices = [part.A for part in declaration.projections]
    A, static = matrices[0], sum(np.asarray(each.todense(), float) for each in matrices[1:])
    sources, targets = np.repeat(np.arange(n), np.diff(A.indptr)), np.asarray(A.indices)
    w, x_pre, x_post = np.full(A.nse, float(np.float32(MODEL.weight))), np.zeros(n), np.zeros(n)
    run, fired, sent, P = jax.jit(Network.run, static_argnums=2), [], [], MODEL.propagator()
    mean, weight, jump = MODEL.rate_outside * MODEL.dt * 1e-3, MODEL.weight, np.e / MODEL.tau_syn
    outside = jax.jit(lambda t: event_ops.poisson_input(weight, 2, t, mean=mean, initial=jnp.zeros(n)))
    before, kept = [w] * delay, state.neurons
    for t in range(STEPS):
        state, recording = run(declaration, state, 1)
        spikes = np.zeros(n, bool)
        spikes[recording.spikes[1]] = True
        fired.append(spikes)
        back = fired[t - delay] if t >= delay else np.zeros(n, bool)
        x_pre, x_post = (
            x_pre * np.exp(-MODEL.dt / MODEL.tau_plus),
            x_post * np.exp(-MODEL.dt / MODEL.tau_minus),
        )
        w = w + np.where(back[targets], MODEL.lam * w**MODEL.mu * x_pre[sources], 0)
        w = w - np.where(spikes[sources], MODEL.lam * MODEL.alpha * w * x_post[targets], 0)
        x_pre, x_post = x_pre + spikes, x_post + back
        before.append(w)
        # A run has the weights of what arrives now, which left a delay ago.
        np.testing.assert_allclose(state.synapses[0]["w"], before[t], rtol=1e-4)
        sent.append(spikes @ static + np.bincount(targets, spikes[sources] * w, n))
        arrived = outside(t) + (sent[t - delay] if t >= delay else 0)
        rise = P[2, 2] * np.asarray(kept["rise"], float) + jump * arrived
        np.testing.assert_allclose(state.neurons["rise"], rise, rtol=1e-4, atol=1e-2)
        kept = state.neurons
    assert np.sum(fired) > 500 and len(np.unique(np.round(w, 3))) > 1000


def test_weights_change_in_place():
    declaration = declared(MODEL, 1)
    state = first_state(declaration, MODEL, 1)
    run = jax.jit(Network.run, static_argnums=2, donate_argnums=1)
    compiled = run.lower(declaration, state, 100).compile().as_text()
    shape = f"f32[{state.synapses[0]['w'].size}]"
    assert shape in compiled
    assert " copy(" not in "".join(line for line in compiled.splitlines() if shape in line)


@pytest.mark.slow
def test_the_program_prints_a_table_and_draws_a_figure(tmp_path, capsys):
    figure = tmp_path / "figure.png"
    asked = ["--scale", "0.02", "--seconds", "0.05", "--no-progress", "--output", str(figure)]
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert "225" in said and "Hz, excitatory" in said and figure.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_spikes_are_those_of_nest(tmp_path):
    """With the same synapses, potentials and background each spike is NEST's, for 0.1 s at least.

    Then rounding has grown to the size of a spike: float32 here, float64 in NEST.
    """
    model, seed, steps = HpcBenchmark(scale=0.1), 2, 1000
    drawn = drawn_network(model, seed)
    declaration = declared(model, seed, Record(spikes=model.neurons * steps // 5), wires=drawn)
    state = first_state(declaration, model, seed)
    named = zip(("learning", "to_inhibitory", "inhibitory"), drawn, strict=True)
    ends = {
        name: np.stack([np.repeat(np.arange(model.neurons), np.diff(wires.indptr)), wires.targets])
        for name, wires in named
    }
    mean, silent = model.rate_outside * model.dt * 1e-3, jnp.zeros(model.neurons)
    count = jax.vmap(lambda t: event_ops.poisson_input(1.0, seed, t, mean=mean, initial=silent))
    outside = np.asarray(count(jnp.arange(steps)))
    np.savez(tmp_path / "inputs.npz", V_m=state.neurons["V_m"], outside=outside, **ends)
    # In NEST nothing arrives from outside in the first step.
    state, _ = declaration.run(state, 1)
    jump = model.weight * np.e / model.tau_syn
    rise = state.neurons["rise"] - np.float32(jump) * outside[0]
    _, recording = declaration.run(state._replace(neurons=state.neurons | {"rise": rise}), steps - 1)
    request = {"model": vars(model) | {"weight": model.weight}, "steps": steps}
    wanted = ask_nest("plastic", request | {"inputs": str(tmp_path / "inputs.npz")})
    found = np.stack(recording.spikes, axis=1)
    assert len(found) > 1000
    later = [spike for spike in wanted["spikes"] if spike[0] > 0]
    np.testing.assert_array_equal(found, sorted(later))
