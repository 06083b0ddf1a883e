"""Short-term plasticity: what spikes release, beside the closed form from spike to spike."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from implemented import backends
from jax.test_util import check_grads

from event_ops import CSR, Events, stp_step

DEPRESSING = {"U": 0.5, "tau_rec": 800.0, "tau_fac": 0.0}
FACILITATING = {"U": 0.15, "tau_rec": 130.0, "tau_fac": 530.0}
DT, STEPS = 0.5, 400


def from_spike_to_spike(times, U, tau_rec, tau_fac):
    """What NEST's tsodyks2_synapse sends, a weight of 1, by its own formulas."""
    x, u, last, sent = 1.0, 0.0, -math.inf, []
    for t in times:
        fading = math.exp(-(t - last) / tau_fac) if tau_fac else 0.0
        x = 1 + (x - x * u - 1) * math.exp(-(t - last) / tau_rec)
        u = U + u * (1 - U) * fading
        sent.append(x * u)
        last = t
    return sent


@backends("stp_step")
@pytest.mark.parametrize("synapse", [DEPRESSING, FACILITATING], ids=["depressing", "facilitating"])
def test_a_train_of_spikes_releases_what_the_closed_form_says(backend, synapse):
    trains = np.random.default_rng(0).random((STEPS, 7)) < np.linspace(0.01, 0.5, 7)

    def step(state, spikes):
        *state, released = stp_step(*state, spikes, **synapse, dt=DT, backend=backend)
        return tuple(state), released

    _, released = jax.lax.scan(step, (jnp.ones(7), jnp.zeros(7)), jnp.asarray(trains))
    for train, found in zip(trains.T, np.asarray(released).T, strict=True):
        expected = from_spike_to_spike(DT * np.flatnonzero(train), **synapse)
        np.testing.assert_allclose(found[train], expected, rtol=2e-5, atol=2e-6)
        assert not found[~train].any()


def test_a_regular_train_comes_to_its_steady_state():
    U, tau_rec, dt = 0.5, 800.0, 50.0
    x, u = jnp.ones(1), jnp.zeros(1)
    for _ in range(100):
        x, u, released = stp_step(x, u, jnp.array([True]), U=U, tau_rec=tau_rec, tau_fac=0.0, dt=dt)
    decay = math.exp(-dt / tau_rec)
    assert float(released[0]) == pytest.approx(U * (1 - decay) / (1 - (1 - U) * decay), rel=1e-5)


def test_released_resources_are_events_of_a_matrix():
    A = CSR.random((30, 20), key=jax.random.key(0), per_row=5, dtype=np.float32)
    spikes = jnp.arange(30) % 3 == 0
    _, _, released = stp_step(jnp.ones(30), jnp.zeros(30), spikes, **FACILITATING, dt=DT)
    np.testing.assert_allclose(Events(released) @ A, 0.15 * (Events(spikes) @ A), rtol=1e-6)


@backends("stp_step")
def test_a_silent_synapse_releases_nothing_whatever_its_state_is(backend):
    states = jnp.array([np.nan, np.inf, 1.0]), jnp.array([0.5, np.nan, np.nan])
    x, u, released = stp_step(*states, jnp.zeros(3, bool), **FACILITATING, dt=DT, backend=backend)
    assert released.tolist() == [0, 0, 0]
    assert np.isfinite(x).tolist() == [False, False, True] and np.isfinite(u).tolist() == [True, False, False]


def test_derivatives_in_states_float_spikes_and_parameters():
    with jax.enable_x64(True):
        trains = jnp.asarray(np.random.default_rng(1).random((20, 5)))

        def total(x, u, trains, U, tau_rec, tau_fac):
            def step(state, spikes):
                *state, released = stp_step(*state, spikes, U=U, tau_rec=tau_rec, tau_fac=tau_fac, dt=2.0)
                return tuple(state), jnp.sin(released)

            return jax.lax.scan(step, (x, u), trains)[1].sum()

        start = jnp.full(5, 0.7), jnp.full(5, 0.2), trains
        check_grads(total, (*start, 0.3, 100.0, 50.0), order=2, modes=["fwd", "rev"], rtol=1e-5)
        slopes = jax.grad(total, argnums=(4, 5))(*start, 0.3, 100.0, 0.0)
        assert np.isfinite(slopes).all() and slopes[1] == 0


def test_populations_under_vmap_and_of_their_own_parameters():
    U, spikes = jnp.array([0.1, 0.5, 0.9]), jnp.ones((3, 4), bool)
    batch = jax.vmap(
        lambda U, s: stp_step(jnp.ones(4), jnp.zeros(4), s, U=U, tau_rec=9.0, tau_fac=9.0, dt=1.0)
    )
    grid = stp_step(
        jnp.ones((3, 4)),
        jnp.zeros((3, 4)),
        spikes,
        U=jnp.tile(U[:, None], 4),
        tau_rec=9.0,
        tau_fac=9.0,
        dt=1.0,
    )
    for a, b in zip(batch(U, spikes), grid, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
