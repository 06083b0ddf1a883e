"""Derivatives beyond those of the cases: in time constants and parameters, and at inactive events."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from implemented import backends
from jax.test_util import check_grads

from event_ops import (
    csr_event_arrivals,
    csr_event_deliver,
    csr_event_matmat,
    csr_event_matvec,
    ell_event_matvec,
    expsyn_step,
    lif_expsyn_step,
    lif_step,
    poisson_input,
    procedural_event_matmat,
    procedural_event_matvec,
    trace_decay,
)
from event_ops.catalog.lif_expsyn_step.cases import NEURON
from event_ops.catalog.lif_step.cases import CUBA


@pytest.mark.slow_cases("numba_cpu")
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


@pytest.mark.slow_cases("numba_cpu", "shape1")
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


@pytest.mark.slow_cases("numba_cpu")
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@backends("csr_event_matvec")
@pytest.mark.parametrize("encoding", ["flags", "ids", "bits"])
@pytest.mark.parametrize("transpose", [False, True])
def test_one_weight_takes_nothing_from_outputs_without_an_active_event(backend, encoding, transpose):
    # Row 0: column 0; row 1: column 1, twice; row 2: nothing. Neuron 1 is active.
    indices, indptr, active = jnp.array([0, 1, 1]), jnp.array([0, 1, 3, 3]), jnp.array([False, True, False])
    forms = {"flags": active, "ids": jnp.array([1, 3, -1], jnp.int32), "bits": jnp.array([2], jnp.uint32)}

    def product(weight):
        options = {"shape": (3, 3), "transpose": transpose, "encoding": encoding, "backend": backend}
        return csr_event_matvec(weight, indices, indptr, forms[encoding], **options)

    _, pull = jax.vjp(product, jnp.float32(1))
    assert pull(jnp.array([jnp.nan, 3, jnp.inf]))[0] == 6
    assert jnp.isnan(pull(jnp.array([0, jnp.nan, 0]))[0])


@backends("csr_event_matvec")
def test_one_weight_has_second_derivatives_at_inactive_float_events(backend):
    parts = jnp.array([0, 1]), jnp.array([0, 2])

    def gradient(events, ct):
        product = lambda w: csr_event_matvec(w, *parts, events, shape=(1, 2), backend=backend)  # noqa: E731
        return jax.vjp(product, jnp.float32(2))[1](ct)[0]

    slopes = jax.grad(gradient, (0, 1))(jnp.zeros(2), jnp.array([3.0]))
    np.testing.assert_array_equal(slopes[0], [3, 3])
    np.testing.assert_array_equal(slopes[1], [0])


# Neuron 1 of 2 is active, and sends to column 1; there is a third column, to which nobody sends.
ACTIVE, SENDS, SHAPE = np.array([False, True]), (np.array([0, 1]), np.array([0, 1, 2])), (2, 3)
ONE_WEIGHT = {
    "csr_event_matmat": lambda w: csr_event_matmat(w, *SENDS, ACTIVE[:, None], shape=SHAPE, transpose=True),
    "csr_event_deliver": lambda w: csr_event_deliver(
        jnp.zeros((1, 3)), w, *SENDS, jnp.asarray(0), ACTIVE, jnp.asarray(0), shape=SHAPE
    ),
    "csr_event_arrivals": lambda w: csr_event_arrivals(ACTIVE[None], w, *SENDS, jnp.asarray(0), shape=SHAPE),
    "ell_event_matvec": lambda w: ell_event_matvec(w, SENDS[0][:, None], ACTIVE, shape=SHAPE, transpose=True),
    "expsyn_step": lambda w: expsyn_step(jnp.zeros(3), w, *SENDS, ACTIVE, shape=SHAPE, tau=5.0, dt=0.1),
    "procedural_event_matmat": lambda w: procedural_event_matmat(
        w, 0, ACTIVE[:, None], prob=0.0, shape=(3, 2)
    ),
    "procedural_event_matvec": lambda w: procedural_event_matvec(w, 0, ACTIVE, prob=0.0, shape=(3, 2)),
}


@pytest.mark.slow_cases("procedural_event_matvec", "csr_event_deliver", "csr_event_matmat")
@pytest.mark.parametrize("name", ONE_WEIGHT)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_cotangent_where_nothing_arrives_does_not_reach_the_one_weight(name, bad):
    y, pull = jax.vjp(ONE_WEIGHT[name], jnp.float32(1))
    assert pull(jnp.where(y == 0, bad, 3))[0] == 3 * jnp.sum(y)


def test_a_cotangent_does_not_reach_the_weights_of_ids_that_are_missing_in_a_history():
    history = jnp.array([[1, 2]], jnp.int32)  # neuron 1, and padding

    def arrivals(data):
        return csr_event_arrivals(history, data, *SENDS, jnp.asarray(0), shape=SHAPE, encoding="ids")

    _, pull = jax.vjp(arrivals, jnp.ones(2))
    np.testing.assert_array_equal(pull(jnp.array([jnp.nan, 3, jnp.inf]))[0], [0, 3])


@pytest.mark.slow_cases("lif_expsyn_step")
@pytest.mark.parametrize("step", [lif_step, lif_expsyn_step])
def test_a_current_into_a_held_neuron_does_not_reach_shared_parameters(step):
    constants = {lif_step: CUBA, lif_expsyn_step: NEURON}[step]
    V, held = jnp.full(2, -55.0), jnp.array([0.0, 2.0])

    def total(tau, current):
        given = {**constants, "tau_m": tau}
        return step(V, held, current, **given)[0].sum()

    slope = jax.grad(total)
    finite, infinite = (slope(jnp.asarray(20.0), jnp.array([3.0, x])) for x in (3.0, jnp.inf))
    assert finite == infinite != 0
