"""Events as counts, straight-through, and matrices of spike ids and bits, in products with matrices."""

import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from implemented import backends

from event_ops import (
    CSR,
    ELL,
    Events,
    csr_event_arrivals,
    csr_event_matvec,
    pack_events,
    spike_compact,
)

RNG = np.random.default_rng(0)
ROWS, COLUMNS, TRIALS = 70, 40, 3
SHAPE = ROWS, COLUMNS
D = RNG.integers(-4, 5, SHAPE) * (RNG.random(SHAPE) < 0.3).astype("f")
A = CSR.from_dense(D)
MATRICES = {"CSR": A, "planned": A.plan(), "ELL": ELL.from_dense(D, per_row=COLUMNS)}
matrices = pytest.mark.parametrize("M", MATRICES.values(), ids=MATRICES)
SPIKES = RNG.random((TRIALS, ROWS)) < [[0.03], [0.4], [0]]
POST = RNG.random((COLUMNS, TRIALS)) < [0.03, 0.4, 0]


def counts(dtype, *shape):
    """Numbers of spikes, most of which are 0; negative ones where the dtype has a sign."""
    low = 0 if np.dtype(dtype).kind == "u" else -3
    return (RNG.integers(low, 4, shape) * (RNG.random(shape) < 0.4)).astype(dtype)


@backends("csr_event_matvec")
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_counts_give_what_numbers_give(backend, transpose, dtype):
    x, strength = counts(dtype, SHAPE[not transpose]), jnp.arange(float(SHAPE[transpose]))

    def product(weights, events, encoding):
        options = {"shape": SHAPE, "transpose": transpose, "encoding": encoding, "backend": backend}
        return csr_event_matvec(weights, A.indices, A.indptr, events, **options)

    def slope(events, encoding):
        return jax.grad(lambda w: product(w, events, encoding) @ strength)(A.data)

    expected = product(A.data, x.astype("f"), "flags")
    assert np.any(expected)
    np.testing.assert_array_equal(product(A.data, x, "counts"), expected)
    batched = jax.vmap(lambda events: product(A.data, events, "counts"))(np.stack([x, 0 * x, x]))
    np.testing.assert_array_equal(batched, np.stack([expected, 0 * expected, expected]))
    np.testing.assert_array_equal(slope(x, "counts"), slope(x.astype("f"), "flags"))


@pytest.mark.parametrize("wide", [2**31 - 1, -(2**31)])
def test_wide_counts_are_not_taken_for_ids_or_words(wide):
    for x in (np.array([wide, 0, 1], np.int32), np.array([2**32 - 1, 0, 1], np.uint32)):
        B = CSR.from_dense(np.eye(3, dtype="f"))
        np.testing.assert_array_equal(B @ Events(x, "counts"), x.astype("f"))


@pytest.mark.slow_cases("uint8", "planned")
@matrices
@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_counts_in_vectors_matrices_and_stacks(M, dtype):
    for shape in ((COLUMNS,), (COLUMNS, 5), (2, COLUMNS, 5), (COLUMNS, 0)):
        x = counts(dtype, *shape)
        np.testing.assert_array_equal(M @ Events(x, "counts"), D @ x.astype("f"))
    for shape in ((ROWS,), (5, ROWS), (2, 5, ROWS)):
        x = counts(dtype, *shape)
        np.testing.assert_array_equal(Events(x, "counts") @ M, x.astype("f") @ D)


@pytest.mark.slow_cases("numba_cpu")
@backends("csr_event_arrivals")
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_a_history_of_counts(backend, dtype):
    slots, neurons = 5, ROWS // 5
    history, options = counts(dtype, slots, neurons), {"shape": (neurons, COLUMNS), "backend": backend}
    expected = csr_event_arrivals(history.astype("f"), A.data, A.indices, A.indptr, 3, **options)
    y = csr_event_arrivals(history, A.data, A.indices, A.indptr, 3, encoding="counts", **options)
    np.testing.assert_array_equal(y, expected)


def lists(spikes):
    return spike_compact(spikes, capacity=50)[0]


encodings = pytest.mark.parametrize(("form", "encoding"), [(lists, "ids"), (pack_events, "bits")])


@pytest.mark.slow_cases("planned", "CSR")
@matrices
@encodings
def test_matrices_of_ids_and_bits_are_what_vmap_of_their_makers_returns(M, form, encoding):
    rows, columns = jax.vmap(form)(SPIKES), jax.vmap(form, 1, 1)(POST)
    for wrap in (lambda f: f, jax.jit):
        np.testing.assert_array_equal(wrap(lambda M, x: Events(x, encoding) @ M)(M, rows), SPIKES @ D)
        np.testing.assert_array_equal(wrap(lambda M, x: M @ Events(x, encoding))(M, columns), D @ POST)
    stack = jnp.stack([rows, rows[::-1]])
    np.testing.assert_array_equal(Events(stack, encoding) @ M, np.stack([SPIKES, SPIKES[::-1]]) @ D)
    assert (Events(rows[:0], encoding) @ M).shape == (0, COLUMNS)


@pytest.mark.slow_cases("CSR")
@matrices
@encodings
def test_weight_gradients_of_matrices_of_ids_and_bits(M, form, encoding):
    def loss(w, events):
        return ((events @ M.with_data(w)) ** 2).sum()

    expected = jax.grad(loss)(M.data, Events(SPIKES))
    slope = jax.grad(loss)(M.data, Events(jax.vmap(form)(SPIKES), encoding))
    np.testing.assert_array_equal(slope, expected)
    assert np.any(expected)


@encodings
def test_rows_of_listed_events_are_added_without_flags_for_all_neurons(form, encoding):
    many = 4000
    B = CSR(np.ones(6, "f"), np.arange(6), np.minimum(np.arange(many + 1), 6), shape=(many, 6))
    events = jax.vmap(form)(jnp.zeros((8, many), bool))
    program = jax.jit(lambda B, x: Events(x, encoding) @ B).lower(B, events).as_text()
    results = re.findall(r"-> tensor<((?:[0-9]+x)*)", program)
    assert max(math.prod(map(int, result.split("x")[:-1])) for result in results) <= events.size < many


@matrices
def test_straight_through_counts_events_and_differentiates_values(M):
    x = jnp.asarray(RNG.normal(size=ROWS) * SPIKES[1], jnp.float32)  # not 0 where there is a spike
    ahead = jnp.arange(float(COLUMNS))

    def loss(x):
        return (Events(x, straight_through=True) @ M) @ ahead

    np.testing.assert_array_equal(Events(x, straight_through=True) @ M, SPIKES[1] @ D)
    for slope in (jax.grad(loss)(x), jax.jit(jax.grad(loss))(x), jax.vmap(jax.grad(loss))(x[None])[0]):
        np.testing.assert_array_equal(slope, D @ ahead)
    tangent = jax.jvp(loss, (x,), (x,))[1]
    np.testing.assert_allclose(tangent, (x @ D) @ ahead, rtol=1e-5)
    grids = jax.grad(lambda X: (M @ Events(X, straight_through=True)).sum())(jnp.ones((COLUMNS, 2)))
    np.testing.assert_array_equal(grids, np.stack([D.sum(0)] * 2, 1))


def test_straight_through_in_a_scan_is_the_sum_of_its_steps():
    X = jnp.asarray(RNG.normal(size=(4, ROWS)) * (RNG.random((4, ROWS)) < 0.5), jnp.float32)

    def loss(X, w):
        def step(total, events):
            return total + (events @ A.with_data(w)).sum(), None

        return jax.lax.scan(step, 0.0, Events(X, straight_through=True))[0]

    slopes = jax.grad(loss, (0, 1))(X, A.data)
    np.testing.assert_allclose(slopes[0], np.stack([D.sum(1)] * 4), rtol=1e-6)
    rows = np.repeat(np.arange(ROWS), np.diff(A.indptr))
    np.testing.assert_array_equal(slopes[1], (X != 0).sum(0)[rows])


def test_graded_spikes_learn_a_target():
    drive, wanted = jnp.asarray(RNG.normal(size=ROWS), jnp.float32), jnp.asarray(D[:9].sum(0))

    def loss(bias):
        crossing = jax.nn.relu(drive + bias)  # 0 for neurons below threshold
        return jnp.mean((Events(crossing, straight_through=True) @ A - wanted) ** 2)

    def step(bias, _):
        return bias - 0.01 * jax.grad(loss)(bias), loss(bias)

    losses = jax.jit(lambda b: jax.lax.scan(step, b, None, length=60)[1])(jnp.zeros(ROWS))
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize(
    ("values", "encoding"),
    [(np.ones(3, bool), "flags"), (np.ones(3, "u1"), "counts"), (np.arange(3, dtype="i4"), "ids")],
)
def test_straight_through_wants_floats(values, encoding):
    with pytest.raises(TypeError, match="straight_through=True; expected floats, which have a derivative"):
        Events(values, encoding, straight_through=True)
