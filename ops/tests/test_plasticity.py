"""What STDP promises beyond its formula: silent weights, bounds, pairs of spikes, loops, derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from event_ops import csr_tocsc, stdp_on_post, stdp_on_pre, trace_decay

backends = pytest.mark.parametrize("backend", ["numba_cpu", "reference"])

# Row 0: columns 1, 0, 2; row 1: none; row 2: column 1; row 3: columns 2, 2.
INDICES, INDPTR, SHAPE = np.array([1, 0, 2, 1, 2, 2]), np.array([0, 3, 3, 4, 6]), (4, 3)
BOUNDS = {"w_min": 0.0, "w_max": 1.0}


def on_pre(w, spikes, x_post, **kwargs):
    return stdp_on_pre(w, INDICES, INDPTR, spikes, x_post, **({"shape": SHAPE} | BOUNDS | kwargs))


def on_post(w, spikes, x_pre, **kwargs):
    transpose = csr_tocsc(INDICES, INDPTR, shape=SHAPE)
    return stdp_on_post(w, *transpose, spikes, x_pre, **({"shape": SHAPE} | BOUNDS | kwargs))


@pytest.mark.slow
@backends
def test_both_orientations_change_the_weights_of_one_array(backend):
    w = jnp.full(6, 0.5)
    x_post, x_pre = jnp.array([0.1, 0.2, 9.0]), jnp.array([0.3, 8.0, 0.4, 9.0])
    pre = on_pre(w, jnp.array([True, True, False, False]), x_post, A_minus=1.0, backend=backend)
    np.testing.assert_allclose(pre, [0.3, 0.4, 0, 0.5, 0.5, 0.5], rtol=1e-6)
    post = on_post(w, jnp.array([False, True, True]), x_pre, A_plus=1.0, backend=backend)
    np.testing.assert_allclose(post, [0.8, 0.5, 0.8, 0.9, 1, 1], rtol=1e-6)


@pytest.mark.slow_cases("numba_cpu")
@backends
def test_silent_weights_stay_bit_for_bit(backend):
    payload = np.array([0xFFC12345], np.uint32).view("f")[0]
    w = np.array([-0.0, payload, 7, np.inf, -5, 1e-42], "f")
    for dtype in (bool, "f"):
        before = w.copy()
        y = on_pre(w, np.zeros(4, dtype), np.full(3, np.nan, "f"), A_minus=1.0, backend=backend)
        z = on_post(w, np.zeros(3, dtype), np.full(4, np.inf, "f"), A_plus=1.0, backend=backend)
        for result in (y, z, w):
            np.testing.assert_array_equal(np.asarray(result).view(np.uint32), before.view(np.uint32))


@backends
def test_a_spike_clips_to_the_bounds_and_keeps_nan(backend):
    w, everyone = np.array([2, -3, 0.5, np.nan, np.inf, -np.inf], "f"), np.ones(4, bool)
    y = on_pre(w, everyone, np.zeros(3, "f"), A_minus=1.0, backend=backend)
    np.testing.assert_array_equal(y, [1, 0, 0.5, np.nan, 1, 0])
    free = {"w_min": -np.inf, "w_max": np.inf}
    y = on_pre(w, everyone, np.zeros(3, "f"), A_minus=1.0, backend=backend, **free)
    np.testing.assert_array_equal(y, w)


@backends
def test_traces_and_spikes_add_up_to_all_pairs(backend):
    # One synapse, over 60 steps: the sum over all pairs of spikes, each weighted by its distance in time.
    rng, dt, tau_plus, tau_minus = np.random.default_rng(3), 0.5, 15.0, 30.0
    pre, post = rng.random((2, 60)) < 0.2
    structure = np.array([0]), np.array([0, 1])
    rule = {"shape": (1, 1), "w_min": -np.inf, "w_max": np.inf, "backend": backend}

    def step(state, spikes):
        w, x_pre, x_post = state
        pre, post = spikes
        x_pre = trace_decay(x_pre, pre, tau=tau_plus, dt=dt)
        w = stdp_on_pre(w, *structure, pre, x_post * np.exp(-dt / tau_minus), A_minus=0.3, **rule)
        w = stdp_on_post(w, *structure, np.array([0]), post, x_pre, A_plus=0.2, **rule)
        return (w, x_pre, trace_decay(x_post, post, tau=tau_minus, dt=dt)), None

    start = (jnp.zeros(1), jnp.zeros(1), jnp.zeros(1))
    (w, *_), _ = jax.lax.scan(step, start, (pre[:, None], post[:, None]))
    gaps = dt * (np.flatnonzero(post)[:, None] - np.flatnonzero(pre))  # > 0: pre before post
    causal, acausal = gaps[gaps >= 0], -gaps[gaps < 0]
    expected = 0.2 * np.exp(-causal / tau_plus).sum() - 0.3 * np.exp(-acausal / tau_minus).sum()
    assert len(causal) > 9 and len(acausal) > 9
    np.testing.assert_allclose(w, [expected], rtol=1e-4)


def test_a_loop_over_time_steps_copies_no_weights():
    structure, transpose = (INDICES, INDPTR), csr_tocsc(INDICES, INDPTR, shape=SHAPE)
    rule = {"shape": SHAPE, **BOUNDS, "backend": "numba_cpu"}
    pre, post, x_post, x_pre = np.ones(4, bool), np.ones(3, bool), np.ones(3, "f"), np.ones(4, "f")

    def step(_, w):
        w = stdp_on_pre(w, *structure, pre, x_post, A_minus=0.1, **rule)
        return stdp_on_post(w, *transpose, post, x_pre, A_plus=0.1, **rule)

    loop = jax.jit(lambda w: jax.lax.fori_loop(0, 9, step, w))
    computations = loop.lower(jnp.zeros(6)).compile().as_text().split("\n}\n")
    (body,) = [text for text in computations if text.count(" custom-call(") == 2]
    assert " copy(" not in body


@backends
def test_rates_and_bounds_may_be_traced_and_batched(backend):
    w, spikes, x = jnp.full(6, 0.5), np.ones(4, bool), np.ones(3, "f")

    @jax.jit
    def f(A_minus, w_min):
        return on_pre(w, spikes, x, A_minus=A_minus, w_min=w_min, backend=backend)

    y = jax.vmap(f)(jnp.array([0.1, 0.4, 0.4]), jnp.array([0.0, 0.0, 0.3]))
    np.testing.assert_allclose(y, np.repeat([[0.4], [0.1], [0.3]], 6, 1), rtol=1e-6)


@pytest.mark.slow_cases("numba_cpu")
@backends
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_silent_hides_its_derivatives(backend, bad):
    # Row 3, of two entries, spikes; so do columns 0 and 2, of three. A trace or a cotangent elsewhere is bad.
    w, rows = jnp.full(6, 0.5), np.array([False, False, False, True])
    columns = np.array([True, False, True])
    pre = lambda x, A: on_pre(w, rows, x, A_minus=A, backend=backend)  # noqa: E731
    post = lambda x, A: on_post(w, columns, x, A_plus=A, backend=backend)  # noqa: E731
    for move, x, silent in (
        (pre, jnp.array([bad, bad, 0.25]), np.arange(4)),
        (post, jnp.array([0.25, bad, bad, 0.125]), np.array([0, 3])),
    ):
        _, pull = jax.vjp(move, x, jnp.float32(1))
        ct = jnp.ones(6).at[silent].set(bad)
        for got, expected in zip(pull(ct), pull(jnp.ones(6)), strict=True):
            np.testing.assert_array_equal(got, expected)
            assert np.isfinite(got).all() and np.any(got)


@pytest.mark.slow
@backends
def test_derivatives_go_through_a_scan(backend):
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        pre, post = rng.random((6, 4)) < 0.4, rng.random((6, 3)) < 0.4
        trace_pre, trace_post = rng.random(4), rng.random(3)

        def f(w, x_pre, x_post, A_plus, A_minus):
            def step(state, spikes):
                w, x_pre, x_post = state
                w = on_pre(w, spikes[0], x_post, A_minus=A_minus, backend=backend)
                w = on_post(w, spikes[1], x_pre, A_plus=A_plus, backend=backend)
                return (w, 0.9 * x_pre, 0.8 * x_post), w

            return jax.lax.scan(step, (w, x_pre, x_post), (pre, post))

        w = np.linspace(0.15, 0.95, 6)
        xs = [*map(jnp.asarray, (w, trace_pre, trace_post)), jnp.asarray(0.2), jnp.asarray(0.1)]
        final = f(*xs)[1]
        assert (final == 1).any() and (final < 1).any()  # bounds are met
        check_grads(f, xs, order=1, modes=("rev",), atol=1e-5, rtol=1e-5)


@backends
def test_a_clipped_weight_follows_its_bound(backend):
    w, spikes, x = jnp.array([0.1, 0.9, 0.9, 0.9, 0.9, 0.9]), np.array([1, 0, 0, 0], bool), jnp.ones(3)
    jacobian = jax.jacobian(
        lambda w, low: on_pre(w, spikes, x, A_minus=0.5, w_min=low, backend=backend), (0, 1)
    )
    by_w, by_low = jacobian(w, jnp.zeros(()))
    np.testing.assert_array_equal(by_w, np.diag([0, 1, 1, 1, 1, 1]))
    np.testing.assert_array_equal(by_low, [1, 0, 0, 0, 0, 0])


@backends
def test_a_silent_float_spike_has_a_derivative(backend):
    w, x = jnp.full(6, 0.5), jnp.array([1.0, 2.0, 4.0])
    pull = jax.grad(lambda s: on_pre(w, s, x, A_minus=0.1, backend=backend).sum())
    np.testing.assert_allclose(pull(jnp.zeros(4)), [-0.7, 0, -0.2, -0.8], rtol=1e-6)


@pytest.mark.parametrize("size", [8, pytest.param(1_100_000, marks=pytest.mark.slow)])
def test_a_broken_structure_stays_inside_the_arrays(size):
    # The result is not defined; memory outside the arrays is neither read nor written.
    lowest, highest = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    indptr = np.array([lowest, highest, -5, 3, highest], np.int32)
    anywhere = np.resize(np.array([2, highest, -1, lowest, 4], np.int32), size)
    w, x, spikes = np.full(size, 0.5, "f"), np.ones(4, "f"), np.ones(4, bool)
    rule = {"shape": (4, 4), **BOUNDS, "backend": "numba_cpu"}
    y = stdp_on_pre(w, anywhere, indptr, spikes, x, A_minus=0.1, **rule)
    z = stdp_on_post(w, anywhere, indptr, anywhere[::-1], spikes, x, A_plus=0.1, **rule)
    for result in (y, z):
        assert ((result >= 0) & (result <= 1)).all()
