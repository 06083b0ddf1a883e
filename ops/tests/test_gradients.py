"""Derivatives beyond those of the cases: in time constants and parameters, and at inactive events."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from implemented import backends
from jax.test_util import check_grads

from event_ops import csr_event_matvec, expsyn_step, lif_expsyn_step, lif_step, poisson_input, trace_decay
from event_ops.catalog.lif_expsyn_step.cases import NEURON
from event_ops.catalog.lif_step.cases import CUBA


@backends("trace_decay")
@pytest.mark.parametrize("shape", [(), (4,)])
def test_trace_decay_in_tau_and_dt(backend, shape):
    with jax.enable_x64(True):
        x, spikes = jnp.arange(4.0), jnp.ones(4)
        check_grads(
            lambda tau, dt: trace_decay(x, spikes, tau=tau, dt=dt, backend=backend),
            (jnp.full(shape, 7.0), jnp.asarray(0.5)),
            order=2,
        )


@backends("expsyn_step")
@pytest.mark.parametrize("shape", [(), (2, 1), (2, 3)])
def test_expsyn_step_in_tau_and_dt(backend, shape):
    with jax.enable_x64(True):
        g, indices, indptr = jnp.arange(6.0).reshape(2, 3), jnp.array([0, 4]), jnp.array([0, 1, 2])
        options = {"shape": (2, 6), "backend": backend}
        check_grads(
            lambda tau, dt: expsyn_step(
                g, 1.5, indices, indptr, jnp.array([True, False]), tau=tau, dt=dt, **options
            ),
            (jnp.full(shape, 7.0), jnp.asarray(0.5)),
            order=2,
        )


@backends("lif_step")
@pytest.mark.parametrize("method", ["exact", "euler"])
def test_lif_step_in_its_parameters(backend, method):
    with jax.enable_x64(True):
        V = jnp.array([-58.0, -50.01, -60.0])
        held, current = jnp.array([0.0, 0.0, 1.0]), jnp.array([3.0, 90.0, 1.0])
        names = ("tau_m", "E_L", "V_reset", "t_ref", "dt")
        values = [jnp.asarray(CUBA[name]) for name in names]

        def f(*parameters):
            given = CUBA | dict(zip(names, parameters, strict=True))
            return lif_step(V, held, current, **given, method=method, backend=backend)[:2]

        spikes = lif_step(V, held, current, **CUBA, method=method, backend=backend)[2]
        assert spikes.tolist() == [False, True, False]
        check_grads(f, values, order=2, modes=("fwd", "rev"), eps=1e-5, atol=1e-3, rtol=1e-3)


@backends("lif_expsyn_step")
def test_lif_expsyn_step_in_its_parameters(backend):
    with jax.enable_x64(True):
        V, held = jnp.array([-58.0, -50.01, -60.0]), jnp.array([0.0, 0.0, 1.0])
        current = jnp.array([300.0, 900.0, 100.0])
        names = ("tau_m", "tau_syn", "E_L", "V_reset", "t_ref", "dt", "R_m", "I_e")
        values = [jnp.asarray(NEURON[name]) for name in names]

        def f(*parameters):
            given = NEURON | dict(zip(names, parameters, strict=True))
            return lif_expsyn_step(V, held, current, **given, backend=backend)[:3]

        spikes = lif_expsyn_step(V, held, current, **NEURON, backend=backend)[3]
        assert spikes.tolist() == [False, True, False]
        check_grads(f, values, order=2, modes=("fwd", "rev"), eps=1e-5, atol=1e-3, rtol=1e-3)


@backends("poisson_input")
def test_poisson_input_in_what_it_is_added_to(backend):
    with jax.enable_x64(True):
        mean = np.full(70, 1.5)
        f = lambda first: jnp.sin(poisson_input(2.0, 7, 3, mean=mean, initial=first, backend=backend))  # noqa: E731
        check_grads(f, (jnp.linspace(-1, 1, 70),), order=2)
        check_grads(f, (jnp.asarray(0.3),), order=2)
        each = jnp.arange(3.0)
        together = jax.vmap(f)(each)
        np.testing.assert_array_equal(together, jnp.stack([f(first) for first in each]))


@backends("csr_event_matvec")
def test_event_gradient_exists_for_inactive_events(backend):
    data, indices = jnp.array([2.0, 3.0, 5.0]), jnp.array([0, 1, 1])
    indptr = jnp.array([0, 2, 3])

    def total(events):
        return csr_event_matvec(data, indices, indptr, events, shape=(2, 2), backend=backend).sum()

    np.testing.assert_array_equal(jax.grad(total)(jnp.zeros(2)), [2.0, 8.0])


@backends("csr_event_matvec")
def test_weight_gradient_of_an_inactive_event_is_zero(backend):
    # Also where the cotangent is infinite.
    indices, indptr = jnp.array([0, 1]), jnp.array([0, 2])
    events = jnp.array([True, False])
    _, pull = jax.vjp(
        lambda d: csr_event_matvec(d, indices, indptr, events, shape=(1, 2), backend=backend),
        jnp.ones(2),
    )
    np.testing.assert_array_equal(pull(jnp.array([jnp.inf]))[0], [jnp.inf, 0.0])
