"""The network with STDP: its synapses, its membranes and what it learns are those of plain loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from nest_programs import printed

import event_ops
from event_ops_harness.networks.hpc_benchmark.__main__ import main
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark, connect, drawn_network
from event_ops_harness.networks.hpc_benchmark.network import catalog_step, drawn

MODEL = HpcBenchmark(scale=0.02)
STEPS = 400


def dense(model, synapses, w):
    """Return the sum of the weights from each neuron to each, in float64."""
    sums = np.zeros((model.neurons, model.neurons))
    for data, indices, indptr in ((w, *synapses.rows), *synapses.fixed):
        sources = np.repeat(np.arange(model.neurons), np.diff(indptr))
        np.add.at(sums, (sources, np.asarray(indices)), np.asarray(data, float))
    return sums


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
@pytest.mark.parametrize("backend", [None, pytest.param("reference", marks=pytest.mark.slow)])
def test_weights_and_currents_follow_the_spikes(backend):
    state, synapses = drawn(MODEL, seed=2)
    step = catalog_step(MODEL, 2, MODEL.neurons, backend)
    scan = jax.jit(
        lambda state: jax.lax.scan(lambda s, _: (step(s, synapses)[0],) * 2, state, length=STEPS)[1]
    )
    states = scan(state)
    n, fired = MODEL.neurons, np.asarray(states.refractory) == np.float32(MODEL.t_ref)
    sources = np.repeat(np.arange(n), np.diff(synapses.rows[1]))
    targets = np.asarray(synapses.rows[0])
    w, x_pre, x_post = np.asarray(state.w, float), np.zeros(n), np.zeros(n)
    P, membrane = MODEL.propagator(), np.asarray(state.V_m, float)
    for t, spikes in enumerate(fired):
        back = fired[t - MODEL.delay_steps] if t >= MODEL.delay_steps else np.zeros(n, bool)
        x_pre, x_post = (
            x_pre * np.exp(-MODEL.dt / MODEL.tau_plus),
            x_post * np.exp(-MODEL.dt / MODEL.tau_minus),
        )
        w += np.where(back[targets], MODEL.lam * w**MODEL.mu * x_pre[sources], 0)
        w -= np.where(spikes[sources], MODEL.lam * MODEL.alpha * w * x_post[targets], 0)
        x_pre, x_post = x_pre + spikes, x_post + back
        np.testing.assert_allclose(states.w[t], w, rtol=1e-4)
        sent = spikes @ dense(MODEL, synapses, w) if spikes.any() else np.zeros(n)
        np.testing.assert_allclose(states.arriving[t, t % MODEL.delay_steps], sent, rtol=1e-4, atol=1e-2)
        before = state if t == 0 else jax.tree.map(lambda x, t=t: x[t - 1], states)
        inner = np.stack([before.V_m, before.current, before.rise]).astype(float)
        free = np.asarray(before.refractory) < MODEL.dt / 2
        membrane = np.where(free, P[0] @ inner, before.V_m)
        np.testing.assert_array_equal(spikes, free & (states.V_m[t] == 0))
        np.testing.assert_allclose(
            states.V_m[t], np.where(spikes, MODEL.V_reset, membrane), rtol=1e-3, atol=1e-2
        )
    assert fired.sum() > 500 and len(np.unique(np.round(w, 3))) > 1000


def test_weights_change_in_place():
    state, synapses = drawn(MODEL, seed=1)
    step = catalog_step(MODEL, 1, MODEL.neurons, "numba_cpu")

    def loop(state):
        return jax.lax.fori_loop(0, 100, lambda _, s: step(s, synapses)[0], state)

    compiled = jax.jit(loop, donate_argnums=0).lower(state).compile().as_text()
    for large in (state.w, state.arriving):
        shape = f"f32[{','.join(map(str, large.shape))}]"
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
    state, synapses = drawn(model, seed)
    named = zip(("learning", "to_inhibitory", "inhibitory"), drawn_network(model, seed), strict=True)
    ends = {
        name: np.stack([np.repeat(np.arange(model.neurons), np.diff(wires.indptr)), wires.targets])
        for name, wires in named
    }
    mean, silent = model.rate_outside * model.dt * 1e-3, jnp.zeros(model.neurons)
    count = jax.vmap(lambda t: event_ops.poisson_input(1.0, seed, t, mean=mean, initial=silent))
    outside = np.asarray(count(jnp.arange(steps)))
    np.savez(tmp_path / "inputs.npz", V_m=state.V_m, outside=outside, **ends)
    step = catalog_step(model, seed, model.neurons)

    def listed(state, _):
        state, _ = step(state, synapses)
        return state, state.refractory == np.float32(model.t_ref)

    # In NEST nothing arrives from outside in the first step.
    state, _ = step(state, synapses)
    jump = model.weight * np.e / model.tau_syn
    state = state._replace(rise=state.rise - np.float32(jump) * outside[0])
    fired = jax.jit(lambda state: jax.lax.scan(listed, state, length=steps - 1)[1])(state)
    request = {"model": vars(model) | {"weight": model.weight}, "steps": steps}
    wanted = printed("plastic_spikes_in_nest.py", request | {"inputs": str(tmp_path / "inputs.npz")})
    found = np.argwhere(fired) + np.array([1, 0])
    assert len(found) > 1000
    later = [spike for spike in wanted["spikes"] if spike[0] > 0]
    np.testing.assert_array_equal(found, sorted(later))
