"""STDP on sparse matrices: the rule of the operators, with a plan, in place, in a loop, for each synapse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify
from jax.test_util import check_grads

from event_ops import CSR, ELL, Events, stdp_on_pre, trace_decay

PRE, POST = np.array([1, 0, 1, 0], bool), np.array([0, 1, 1], bool)
X_PRE, X_POST = np.array([0.3, 8, 0.4, 9], "f"), np.array([0.1, 0.2, 9], "f")
RULE = {"w_min": 0.1, "w_max": 1.0}
DENSE = np.array([[0.5, 0.9, 0], [0, 0, 0.2], [0, 0.4, 0.7], [0.6, 0, 0.5]], "f")

FORMS = {
    "planned": lambda: CSR.from_dense(DENSE).plan(),
    "places": lambda: CSR.from_dense(DENSE).plan(weights=False),
    "transposed": lambda: CSR.from_dense(DENSE.T).plan().T,
    "transposed-places": lambda: CSR.from_dense(DENSE.T).plan(weights=False).T,
    "ELL": lambda: ELL.from_dense(DENSE, per_row=2).plan(),
    "ELL-transposed-places": lambda: ELL.from_dense(DENSE.T, per_row=4).plan(weights=False).T,
}
forms = pytest.mark.parametrize("form", FORMS)


def after(dense, spikes, change, rule=RULE):
    moved = np.clip(dense + change, rule["w_min"], rule["w_max"])
    return np.where((dense != 0) & spikes, moved, dense)


@forms
def test_weights_change_by_row_and_by_column_and_the_plan_with_them(form):
    A = FORMS[form]()
    B = jax.jit(lambda A: A.stdp_on_pre(PRE, X_POST, A_minus=0.5, **RULE))(A)
    expected = after(DENSE, PRE[:, None], -0.5 * X_POST)
    np.testing.assert_allclose(B.todense(), expected, rtol=1e-6)
    C = B.stdp_on_post(POST, X_PRE, A_plus=0.25, **RULE)
    expected = after(expected, POST, 0.25 * X_PRE[:, None])
    np.testing.assert_allclose(C.todense(), expected, rtol=1e-6)
    for x in (POST, X_POST):
        np.testing.assert_allclose(C @ Events(x), expected @ x, rtol=1e-6)
    np.testing.assert_allclose(Events(PRE) @ C, PRE @ expected, rtol=1e-6)
    np.testing.assert_array_equal(C.T.tocsr().todense(), C.todense().T)
    checkify.checkify(jax.jit(lambda A: A.check()))(C)[0].throw()
    assert jax.tree.structure(A) == jax.tree.structure(C) and C.indices is B.indices


def test_a_plan_without_weights_stays_one():
    A = CSR.from_dense(DENSE).plan(weights=False)
    for B in (A.with_data(2 * A.data), A.T, -A, A + A):
        assert B.by_column.weights is None
    np.testing.assert_array_equal(A.T.tocsr().todense(), DENSE.T)
    assert A.plan().by_column.weights is not None
    one = CSR.from_dense(DENSE).with_data(2.0).plan()
    np.testing.assert_array_equal(one @ Events(POST), 2 * np.count_nonzero(DENSE * POST, axis=1))
    assert one.with_data(A.data).by_column.weights is not None


def test_a_loop_copies_and_sorts_nothing():
    A = CSR.from_dense(DENSE).plan(weights=False)

    def step(A, _):
        A = A.stdp_on_pre(PRE, X_POST, A_minus=0.1, **RULE, backend="numba_cpu")
        return A.stdp_on_post(POST, X_PRE, A_plus=0.1, **RULE, backend="numba_cpu"), None

    def loop(data):
        return jax.lax.scan(step, A.with_data(data), length=9)[0].data

    compiled = jax.jit(loop, donate_argnums=0).lower(A.data).compile()
    computations = compiled.as_text().split("\n}\n")
    (body,) = [text for text in computations if text.count(" custom-call(") == 2]
    for word in (" copy(", " sort(", " gather(", "f32[7]{0} fusion("):
        assert word not in body
    assert "input_output_alias" in compiled.as_text()


@pytest.mark.slow
def test_a_plastic_network_learns_who_comes_first():
    # Neuron 0 spikes a step ahead of neuron 2, neuron 1 a step after it.
    A = CSR.from_dense(np.array([[0, 0, 0.5], [0, 0, 0.5], [0, 0, 0]], "f")).plan(weights=False)

    def step(state, t):
        A, x = state
        spikes = jnp.stack([t % 10 == 0, t % 10 == 2, t % 10 == 1])
        A = A.stdp_on_pre(spikes, x, A_minus=0.02, w_min=0.0, w_max=jnp.array([0.8, 1.0]))
        A = A.stdp_on_post(spikes, x, A_plus=0.02, w_min=0.0, w_max=jnp.array([0.8, 1.0]))
        return (A, trace_decay(x, spikes, tau=2.0, dt=1.0)), None

    (A, _), _ = jax.jit(lambda A: jax.lax.scan(step, (A, jnp.zeros(3)), jnp.arange(500)))(A)
    np.testing.assert_allclose(A.data, [0.8, 0.0], atol=1e-6)


@pytest.mark.slow
def test_derivatives_of_rules_for_each_synapse():
    with jax.enable_x64(True):
        A = CSR.from_dense(DENSE.astype(float)).plan()
        rng = np.random.default_rng(0)
        rates, low, high = rng.uniform((0.1, 0, 0.6), (1, 0.3, 1), (A.nse, 3)).T

        @jax.jit
        def f(data, rates, low, high):
            B, bounds = A.with_data(data), {"w_min": low, "w_max": high}
            B = B.stdp_on_pre(PRE, X_POST.astype(float), A_minus=rates, **bounds)
            return B.stdp_on_post(POST, X_PRE.astype(float), A_plus=rates, **bounds) @ Events(POST)

        check_grads(f, (A.data, rates, low, high), order=1, modes=("fwd", "rev"), atol=1e-5, rtol=1e-5)


@pytest.mark.slow
def test_rules_for_each_synapse_on_all_threads():
    rng, nse = np.random.default_rng(0), 1_100_000
    w, low, high, rate = rng.uniform((0.3, 0, 0.6, 0), (0.6, 0.3, 1, 1), (nse, 4)).astype("f").T
    indices, indptr = rng.integers(0, 500, nse), np.linspace(0, nse, 3001).astype(int)
    spikes, x = rng.random(3000) < 0.5, rng.random(500).astype("f")
    rule = {"shape": (3000, 500), "A_minus": rate, "w_min": low, "w_max": high}
    y = stdp_on_pre(w, indices, indptr, spikes, x, **rule, backend="numba_cpu")
    moved = np.clip(w - rate * x[indices], low, high)
    np.testing.assert_allclose(y, np.where(np.repeat(spikes, np.diff(indptr)), moved, w), rtol=1e-5)


def test_mistakes_are_named():
    A = CSR.from_dense(DENSE)
    with pytest.raises(ValueError, match=r"no plan.*A = A\.plan\(weights=False\)"):
        A.stdp_on_post(POST, X_PRE, A_plus=0.1, **RULE)
    with pytest.raises(ValueError, match="no plan"):
        A.T.stdp_on_pre(POST, X_PRE, A_minus=0.1, **RULE)
    with pytest.raises(ValueError, match="data is one weight for all entries"):
        A.with_data(1.0).stdp_on_pre(PRE, X_POST, A_minus=0.1, **RULE)
    with pytest.raises(ValueError, match=r"x_post has shape \(4,\); .*column of shape=\(4, 3\)"):
        A.stdp_on_pre(PRE, X_PRE, A_minus=0.1, **RULE)
    with pytest.raises(TypeError, match="data has dtype int32"):
        A.astype("int32").stdp_on_pre(PRE, X_POST, A_minus=0.1, **RULE)


def follow(w, trace, *, x_pre, x_post, rate):
    """A rule with a further synaptic variable, and a variable of every kind."""
    trace = 0.5 * trace + x_pre - 0.1 * x_post
    return jnp.clip(w + rate * trace, 0.1, 1.0), trace


def follow_all(dense, trace, rate, active):
    changed = np.where((dense != 0) & active, 0.5 * trace + X_PRE[:, None] - 0.1 * X_POST, trace)
    return np.where((dense != 0) & active, np.clip(dense + rate * changed, 0.1, 1.0), dense), changed


def dense_of(A, values):
    """Return values, one for each weight, where the entries of A are."""
    return np.asarray(A.with_data(values).todense())


@pytest.mark.slow_cases("planned", "transposed")
@forms
def test_any_rule_by_row_and_by_column_and_the_plan_with_it(form):
    A = FORMS[form]()
    rate, trace = (0.1 + jnp.arange(A.data.size, dtype="f").reshape(A.data.shape) / k for k in (30, 10))
    rates, traces = dense_of(A, rate), dense_of(A, trace)
    variables = {"x_pre": X_PRE, "x_post": X_POST, "rate": rate}
    B, moved = jax.jit(lambda A: A.on_pre(follow, PRE, state=(trace,), **variables))(A)
    expected = follow_all(DENSE, traces, rates, PRE[:, None])
    np.testing.assert_allclose(B.todense(), expected[0], rtol=1e-6)
    np.testing.assert_allclose(np.where(DENSE != 0, dense_of(A, moved), traces), expected[1], rtol=1e-6)
    C, moved = B.on_post(follow, POST, state=(moved,), **variables)
    expected = follow_all(*expected[:2], rates, POST)
    np.testing.assert_allclose(C.todense(), expected[0], rtol=1e-6)
    np.testing.assert_allclose(C @ Events(POST), expected[0] @ POST, rtol=1e-6)
    assert jax.tree.structure(A) == jax.tree.structure(C) and C.indices is B.indices
    halved = C.on_pre(lambda w: w / 2, np.ones(4, bool))
    np.testing.assert_allclose(halved.todense(), expected[0] / 2, rtol=1e-6)


def test_a_wrong_call_with_a_rule_is_refused():
    A, E = CSR.from_dense(DENSE), ELL.from_dense(DENSE, per_row=2)
    with pytest.raises(ValueError, match="the matrix has no plan"):
        A.on_post(lambda w: w, POST)
    with pytest.raises(ValueError, match="one weight for all entries"):
        A.with_data(1.0).on_pre(lambda w: w, PRE)
    with pytest.raises(ValueError, match=r"state\[0\] has shape \(3,\); expected \(7,\)"):
        A.on_pre(lambda w, x: (w, x), PRE, state=(np.ones(3, "f"),))
    with pytest.raises(ValueError, match=r"rate has shape \(2, 4\); expected \(4, 2\): a number, or one"):
        E.on_pre(lambda w, *, rate: w, PRE, rate=np.ones((2, 4), "f"))
    with pytest.raises(ValueError, match=r"spikes_pre has shape \(3,\); expected \(4,\)"):
        A.on_pre(lambda w: w, POST)
    with pytest.raises(ValueError, match=r"x_post has shape \(4,\); expected \(3,\)"):
        A.on_pre(lambda w, *, x_post: w, PRE, x_post=X_PRE)
