"""Weights of neurons that add up to a target: of rows and columns, on every storage, only where asked for."""

import jax
import numpy as np
import pytest

from event_ops import CSR, ELL, Events, csr_normalize, csr_tocsc

ROWS, COLUMNS, PER_ROW = 30, 20, 6
SHAPE = ROWS, COLUMNS
RNG = np.random.default_rng(4)
INDICES = np.sort(np.argsort(RNG.random(SHAPE))[:, :PER_ROW]).astype(np.int32)
INDICES[RNG.random(INDICES.shape) < 0.2] = COLUMNS  # free slots
W = RNG.standard_normal(INDICES.shape).astype("f")
ACTIVE = RNG.random(ROWS) < 0.5, RNG.random(COLUMNS) < 0.5


def ell():
    return ELL(W, INDICES, shape=SHAPE)


def csr():
    return CSR(W.ravel(), INDICES.ravel(), np.arange(ROWS + 1) * PER_ROW, shape=SHAPE, validate=False)


FORMS = {
    "ell": lambda: ell().plan(),
    "csr": lambda: csr().plan(weights=False),
    "transposed": lambda: csr().plan().T,
}


@pytest.mark.slow_cases("0")
@pytest.mark.parametrize("subtractive", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "form", ["csr", *(pytest.param(x, marks=pytest.mark.slow) for x in ("ell", "transposed"))]
)
def test_the_weights_of_a_neuron_add_up_and_others_stay(form, axis, subtractive):
    A = FORMS[form]()
    D, active = np.asarray(A.todense()), ACTIVE[(1 - axis) ^ A.transposed]
    target = RNG.uniform(0.5, 2, active.size).astype("f")
    B = jax.jit(lambda A: A.normalize(target, active, axis=axis, subtractive=subtractive))(A)
    there, other = D != 0, np.expand_dims(active, axis)
    total = (D if subtractive else abs(D)).sum(axis, keepdims=True)
    goal = np.expand_dims(target, axis)
    moved = D + (goal - total) / there.sum(axis, keepdims=True) if subtractive else D * goal / total
    np.testing.assert_allclose(B.todense(), np.where(there & other, moved, D), rtol=2e-5, atol=1e-6)
    sums = np.asarray((B if subtractive else abs(B)).todense().sum(axis))
    np.testing.assert_allclose(sums[active], target[active], rtol=1e-5)
    x = RNG.random(B.shape[1], "f")
    np.testing.assert_allclose(B @ Events(x), B.todense() @ x, rtol=1e-4, atol=1e-6)
    free = np.asarray(A.free)
    np.testing.assert_array_equal(np.asarray(B.data)[free], np.asarray(A.data)[free])


def test_all_neurons_without_flags():
    A = csr().plan(weights=False)
    np.testing.assert_allclose(abs(A.normalize(2.0, axis=0)).todense().sum(axis=0), 2, rtol=1e-5)


@pytest.mark.slow
def test_large_matrices_have_the_same_bits_on_one_thread_and_on_all():
    rows, columns, per_row = 3000, 500, 370
    indices = RNG.integers(0, columns, rows * per_row, dtype=np.int32)
    indptr = np.arange(rows + 1) * per_row
    data = RNG.random(indices.size, "f")
    transpose = csr_tocsc(indices, indptr, shape=(rows, columns))
    whole = csr_normalize(
        data, *transpose[:2], 1.0, shape=(columns, rows), permutation=transpose[2], backend="numba_cpu"
    )
    for j in (0, 77, 499):
        places = np.asarray(transpose[2])[int(transpose[1][j]) : int(transpose[1][j + 1])]
        one = csr_normalize(
            data[places], np.zeros(places.size, int), np.array([0, places.size]), 1.0, shape=(1, 1)
        )
        np.testing.assert_array_equal(whole[places], one)


WRONG = {
    "axis": (lambda A: A.normalize(1.0, axis=2), "axis is 2; expected 0 for the weights of columns or 1"),
    "no plan": (lambda A: A.normalize(1.0, axis=0), "no plan, .*make it once"),
    "one weight": (lambda A: A.with_data(1.0).normalize(1.0, axis=1), "one weight for all entries"),
    "flags": (lambda A: A.normalize(1.0, ACTIVE[1], axis=1), r"active has shape \(20,\); expected \(30,\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name):
    call, match = WRONG[name]
    with pytest.raises(ValueError, match=match):
        call(ell())
