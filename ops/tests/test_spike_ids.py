"""Spike ids and packed bits give the products and gradients that bools give; neurons list their spikes."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from implemented import backends

from event_ops import csr_event_matvec, neuron_step, pack_events, spike_compact
from event_ops.cases.draw import Draw
from event_ops.surrogate import fast_sigmoid

orientations = pytest.mark.parametrize("transpose", [False, True])

SHAPE = (150, 130)


def as_ids(spikes):
    return spike_compact(spikes, capacity=140)[0]


forms = pytest.mark.parametrize(("form", "encoding"), [(as_ids, "ids"), (pack_events, "bits")])


def network(transpose):
    rng = np.random.default_rng(5)
    data, indices, indptr = Draw(rng, "float32", "int32").csr(SHAPE, 900)
    spikes = rng.random((3, SHAPE[not transpose])) < [[0.02], [0.5], [0]]
    return jnp.round(data * 4), indices, indptr, jnp.asarray(spikes)


@backends("csr_event_matvec")
@orientations
@forms
def test_products_are_those_of_bools(backend, transpose, form, encoding):
    *parts, spikes = network(transpose)

    def product(events, encoding="flags"):
        options = {"shape": SHAPE, "transpose": transpose, "encoding": encoding, "backend": backend}
        return csr_event_matvec(*parts, events, **options)

    expected = jax.vmap(product)(spikes)
    assert expected.any()
    np.testing.assert_array_equal(jax.jit(jax.vmap(lambda s: product(form(s), encoding)))(spikes), expected)


@pytest.mark.slow
@backends("csr_event_matvec")
@orientations
@forms
@pytest.mark.parametrize("homogeneous", [False, True])
def test_weight_gradients_are_those_of_bools(backend, transpose, form, encoding, homogeneous):
    data, indices, indptr, spikes = network(transpose)
    data = data[0] if homogeneous else data
    strength = jnp.arange(float(SHAPE[transpose]))

    def loss(data, events, encoding="flags"):
        options = {"shape": SHAPE, "transpose": transpose, "encoding": encoding, "backend": backend}
        return csr_event_matvec(data, indices, indptr, events, **options) @ strength

    expected = jax.grad(loss)(data, spikes[0])
    np.testing.assert_array_equal(jax.grad(loss)(data, form(spikes[0]), encoding), expected)
    assert np.any(expected)


@pytest.mark.slow_cases("numba_cpu")
@backends("csr_event_matvec")
@orientations
@pytest.mark.parametrize("weight", [np.nan, np.inf])
def test_missing_ids_add_nothing_whatever_the_weight_or_the_cotangent(backend, transpose, weight):
    indices, indptr, ids = np.array([0, 1, 2]), np.array([0, 1, 2, 3]), jnp.array([1, 1, 3, -1, 2**31 - 1])

    def product(data):
        options = {"shape": (3, 3), "transpose": transpose, "encoding": "ids", "backend": backend}
        return csr_event_matvec(data, indices, indptr, ids, **options)

    y, pull = jax.vjp(product, jnp.full(3, weight, "f"))
    np.testing.assert_array_equal(y, np.array([0, weight, 0]))
    np.testing.assert_array_equal(pull(jnp.array([np.inf, 3, np.nan]))[0], [0, 6, 0])


@pytest.mark.slow_cases("numba_cpu")
@backends("csr_event_matvec")
def test_no_ids_and_more_ids_than_neurons(backend):
    parts = np.ones(4, "f"), np.array([0, 1, 0, 1]), np.array([0, 2, 4])
    for transpose in (False, True):
        options = {"shape": (2, 2), "transpose": transpose, "encoding": "ids", "backend": backend}
        assert csr_event_matvec(*parts, jnp.zeros(0, jnp.int32), **options).tolist() == [0, 0]
        many = jnp.zeros(100, jnp.int32)
        y = csr_event_matvec(*parts, many, **options)
        assert y.tolist() == [100, 100]


@pytest.mark.slow_cases("numba_cpu")
@pytest.mark.parametrize("backend", ["numba_cpu", "reference"])
def test_a_neuron_step_lists_the_spikes_that_it_returns(backend):
    """The list is that of `spike_compact`, also where it has no room, in batches, and beside derivatives."""
    step = neuron_step(lambda V, *, I: V + I, threshold=lambda V: V - 1, reset=lambda V: 0.0)
    V = jnp.linspace(0, 1, 70)
    for capacity in (70, 2):
        run = functools.partial(step, V, capacity=capacity, backend=backend)
        _, spikes, ids, count = jax.vmap(lambda I, run=run: run(I=I))(jnp.array([0.1, 0.4]))
        expected = [spike_compact(x, capacity=capacity, backend="reference") for x in spikes]
        np.testing.assert_array_equal(ids, [x for x, _ in expected])
        np.testing.assert_array_equal(count, [x for _, x in expected])
        assert 2 < count[0] < count[1] < 70

    def loss(I):
        _, spikes, ids, _ = run(I=I, surrogate=fast_sigmoid())
        return spikes[ids].sum()

    assert jax.grad(loss)(0.4) > 0
