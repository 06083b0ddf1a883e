"""Projections that learn: the rules of a loop in NumPy, and natively the bits of the scan of operators."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_networks import LIF, START, assert_same, matrix

from event_ops import CSR, CompactCSR, lif_step
from event_ops.network import (
    Network,
    Plasticity,
    PoissonInput,
    Population,
    Projection,
    Record,
    learning_plan,
    waiting_spikes,
)
from event_ops.plasticity import vogels_post, vogels_pre

N, STEPS = 60, 300
TRACES = {"x_pre": 4.0, "x_post": 9.0}


def pair_pre(w, *, x_post, A_minus):
    return w - A_minus * x_post


def pair_post(w, *, x_pre, A_plus_post):
    return w + A_plus_post * x_pre


def pairs(**how):
    A_plus = np.linspace(0.02, 0.2, N, dtype=np.float32)
    return Plasticity(pair_pre, pair_post, traces=TRACES, dt=0.1, A_minus=0.1, A_plus_post=A_plus, **how)


def driven(plasticity, *, receptor="jump", delay=1, A=None, weight=4.0):
    """A population that Poisson spikes drive, and that a projection to itself learns in."""
    A = matrix(N, N, 1.0) if A is None else A
    lif = Population(A.shape[0], lif_step, I_syn=0.0, **LIF)
    projection = Projection(A, receptor, delay=delay, plasticity=plasticity)
    drive = PoissonInput("jump", weight=weight, mean=0.15)
    return Network(lif, [projection], [drive], Record(spikes=9000))


CASES = {
    "to a state": ({}, "V_m", 0),
    "back after three steps": ({"post_delay": 3}, "V_m", 2),
    "to a variable": ({"post_delay": 1}, "jump", 1),
    "postsynaptic first": ({"post_delay": 4, "post_first": True}, "jump", 2),
}


def by_hand(network, spikes):
    """The weights that rules make of spikes, in float64."""
    part = network.projections[0]
    rule, delay, A = part.plasticity, part.ages[0], part.A
    sources, targets = np.repeat(np.arange(N), np.diff(A.indptr)), np.asarray(A.indices)
    w, x_pre, x_post = np.asarray(A.data, float), np.zeros(N), np.zeros(N)
    gain = np.asarray(rule.arrays["A_plus_post"], float)[targets]
    nobody = np.zeros(N, bool)

    def after_post(w, x_pre):
        return w + np.where(returning[targets], gain * x_pre[sources], 0)

    for t in range(STEPS):
        arriving = spikes[t - delay] if t >= delay else nobody
        returning = spikes[t - rule.post_delay] if t >= rule.post_delay else nobody
        x_pre, x_post = (x * np.exp(-0.1 / tau) for x, tau in ((x_pre, 4.0), (x_post, 9.0)))
        if rule.post_first:
            w = after_post(w, x_pre)
        w = w - np.where(arriving[sources], 0.1 * x_post[targets], 0)
        x_pre = x_pre + arriving
        if not rule.post_first:
            w = after_post(w, x_pre)
        x_post = x_post + returning
    return w, x_pre, x_post


@pytest.mark.parametrize("case", CASES)
def test_the_scan_is_the_loop_and_the_native_run_has_its_bits(case):
    how, receptor, delay = CASES[case]
    network = driven(pairs(**how), receptor=receptor, delay=delay)
    state = network.state(START, seed=1)
    end, recording = network.run(state, STEPS, backend="reference")
    spikes = np.zeros((STEPS, N), bool)
    spikes[recording.spikes] = True
    assert spikes.sum() > 300
    w, x_pre, x_post = by_hand(network, spikes)
    assert np.abs(w - network.projections[0].A.data).max() > 1
    found = end.synapses[0]
    for given, expected in zip(
        (found["w"], found["x_pre"], found["x_post"]), (w, x_pre, x_post), strict=True
    ):
        np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-4)
    assert_same(network.run(state, STEPS, backend="numba_cpu"), (end, recording))


def of_everything(w, *, x_pre, x_post, A_pre, A_post, gain):
    return w + gain * x_pre * (1 + x_post) * (A_pre + jnp.abs(w) ** A_post)


@pytest.mark.parametrize("post_first", [False, True])
def test_postsynaptic_spikes_that_wait_give_the_same_bits(post_first, monkeypatch):
    for name in ("FAR_BYTES", "LONG_ROW"):
        monkeypatch.setattr(learning_plan, name, 0)
    # Rows of several lists, whose neurons are in any order.
    n = 130
    columns = np.random.default_rng(3).integers(0, n, (n, 300)).astype(np.int32)
    weights = np.full(columns.size, 0.1, np.float32)
    A = CSR(weights, columns.ravel(), np.arange(0, columns.size + 1, 300, dtype=np.int32), shape=(n, n))
    arrays = {"A_pre": n, "A_post": n, "gain": A.nse}
    given = {name: np.linspace(0.01, 0.04, size, dtype=np.float32) for name, size in arrays.items()}
    how = {"traces": TRACES, "dt": 0.1, "post_delay": 3, "post_first": post_first}
    rule = Plasticity(pair_pre, of_everything, A_minus=0.05, **given, **how)
    # With all neurons, several spikes of one come between those of others. With one neuron its spikes are
    # too few to pay for a pass, and wait no more.
    for weight in (np.full(n, 4.0, np.float32), 20 * np.eye(1, n, dtype=np.float32)[0]):
        network = driven(rule, delay=2, A=A, weight=weight)
        state = network.state(START, seed=1)
        end, recording = network.run(state, 3 * STEPS, backend="reference")
        counts = np.bincount(recording.spikes[1])
        assert counts.max() > waiting_spikes.KEPT
        assert np.isfinite(end.synapses[0]["w"]).all()
        assert_same(network.run(state, 3 * STEPS, backend="numba_cpu"), (end, recording))


def test_two_runs_are_one_and_leave_the_matrix_alone():
    network = driven(pairs(), receptor="V_m", delay=0)
    state, weights = network.state(START, seed=1), np.array(network.projections[0].A.data)
    whole = jax.tree.map(np.array, network.run(state, STEPS)[0])
    run = jax.jit(Network.run, static_argnums=2, donate_argnums=1)
    half, _ = run(network, state, STEPS // 2)
    assert_same(run(network, half, STEPS // 2)[0], whole)
    np.testing.assert_array_equal(network.projections[0].A.data, weights)


def test_one_rule_and_one_weight_for_all():
    A = matrix(N, N, 1.0)
    fades = Plasticity(lambda w, *, keep: w * keep, keep=0.5)
    network = driven(fades, A=type(A)(jnp.float32(2), A.indices, A.indptr, shape=A.shape))
    state, recording = network.run(network.state(START), STEPS)
    times, ids = recording.spikes
    arrived = np.bincount(ids[times < STEPS - 1], minlength=N)
    expected = 2 * 0.5 ** np.repeat(arrived, np.diff(A.indptr)).astype(np.float32)
    np.testing.assert_array_equal(state.synapses[0]["w"], expected)


def test_arrays_without_dimensions_are_numbers_of_a_jitted_network():
    rule = Plasticity(pair_pre, traces={"x_post": np.array(9.0)}, dt=np.array(0.1), A_minus=np.array(0.5))
    network = driven(rule, delay=1, receptor="V_m")
    state = network.state(START)
    found = jax.jit(Network.run, static_argnums=2)(network, state, 20)
    assert_same(found, network.run(state, 20, backend="reference"))


def words():
    A = matrix(N, N, 1.0)
    return CompactCSR(A.indices.astype(jnp.uint16), A.indptr, np.float32(1), shape=A.shape)


VOGELS = {"traces": {"x_pre": 20.0, "x_post": 20.0}, "dt": 0.1, "eta": 0.01, "alpha": 0.1}


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Plasticity(), TypeError, "no rule"),
        (lambda: Plasticity(vogels_pre, alpha=0.1, w_max=1.0, eta=1.0), TypeError, "takes x_post, which is"),
        (
            lambda: Plasticity(vogels_pre, vogels_post, rho=3.0, w_max=1.0, **VOGELS),
            TypeError,
            "rho is given",
        ),
        (lambda: pairs(post_delay=-1), ValueError, "post_delay is -1"),
        (lambda: pairs(post_delay=2**31 - 1), ValueError, r"post_delay is 2147483647; .* below 2\*\*31 - 1"),
        (lambda: pairs(post_first="no"), TypeError, "post_first is 'no'; expected True or False"),
        (
            lambda: jax.eval_shape(lambda flag: pairs(post_first=flag).dt, jnp.bool_(True)),
            TypeError,
            "post_first is .*; expected True or False, known when traced: pass it as a static argument",
        ),
        (
            lambda: Plasticity(pair_post, traces={"x_pre": 0.0}, dt=0.1, A_plus_post=1.0),
            ValueError,
            "constant 0",
        ),
        (lambda: Plasticity(pair_post, traces={"x_pre": 1.0}, A_plus_post=1.0), TypeError, "dt is not given"),
        (
            lambda: Plasticity(pair_post, traces={"x_pre": 1.0}, dt=jnp.float32(0.1), A_plus_post=1.0),
            TypeError,
            "dt is a .*; expected a number",
        ),
        (lambda: Plasticity(lambda w, *, x: w, traces={"x": 1.0}, dt=0.1), ValueError, "is of no side"),
        (lambda: Plasticity(pair_pre, x_post=1.0, traces=TRACES, A_minus=1.0), TypeError, "is a trace, and"),
        (lambda: driven(pairs()), ValueError, "expected post_delay >= 1, or a state"),
        (lambda: driven("STDP"), TypeError, "plasticity is a str; expected a Plasticity"),
        (lambda: driven(pairs(), delay=np.ones(8 * N, int)), ValueError, "a delay for each entry is given"),
        (lambda: driven(pairs(), A=words()), TypeError, "A is a CompactCSR, and weights that learn"),
        (lambda: driven(pairs(), A=matrix(N, N, 1.0).astype(jnp.float16)), TypeError, "CSR of float16"),
        (lambda: driven(pairs(), A=matrix(N, 50, 1.0)), ValueError, "A_plus_post has shape"),
    ],
)
def test_wrong_declarations_are_refused_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make().state(START)


def test_a_state_has_the_synapses_of_its_network():
    network = driven(pairs(post_delay=1))
    state = network.state(START)
    with pytest.raises(ValueError, match="synapses of 0 projections; expected 1"):
        network.run(state._replace(synapses=()), 1)
    with pytest.raises(ValueError, match="have x_pre; expected w, x_post, x_pre"):
        network.run(state._replace(synapses=({"x_pre": state.synapses[0]["x_pre"]},)), 1)
