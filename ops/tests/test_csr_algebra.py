"""Sums and products of two `CSR`s: beside NumPy and SciPy."""

import operator

import jax
import numpy as np
import pytest
import scipy.sparse
from real_matrices import laplacian
from small_matrix import DENSE, small

import event_ops
import ffi_bridge
from event_ops import CSR, ELL, Events


@pytest.fixture(autouse=True)
def _reference():
    """A backend is chosen after all of this, and the reference has nothing to compile."""
    with ffi_bridge.use_backend("reference"):
        yield


def drawn(seed, rows, columns, nse, *, astray=False):
    """Whole numbers, so that sums are exact; duplicates, unsorted; some entries may not count."""
    rng = np.random.default_rng(seed)
    row = np.sort(rng.integers(0, rows, nse))
    data, indices = rng.integers(-4, 5, nse).astype("f"), rng.integers(0, columns, nse)
    indptr = np.searchsorted(row, np.arange(rows + 1))
    if astray:
        indptr = np.clip(indptr, 2, nse - 3)
        indices[5:7] = -1, columns
        data[[0, 1, 5, 6, -1]] = np.nan
    return CSR(data, indices, indptr, shape=(rows, columns), validate=False)


PAIRS = {
    "overlap": (drawn(0, 6, 5, 12), drawn(1, 6, 5, 9)),
    "turned": (drawn(0, 6, 5, 12), drawn(1, 5, 6, 9).T),
    "both turned": (drawn(0, 5, 6, 12).T, drawn(1, 5, 6, 9).T),
    "astray": (drawn(0, 6, 5, 12, astray=True), drawn(1, 6, 5, 15, astray=True)),
    "one weight": (drawn(0, 6, 5, 12).with_data(2.0), drawn(1, 6, 5, 9)),
    "nothing to add": (drawn(0, 6, 5, 12), drawn(1, 6, 5, 0)),
    "no rows": (drawn(0, 6, 0, 0).T, CSR(np.zeros(0, "f"), np.zeros(0, int), [0], shape=(0, 6))),
}


@pytest.mark.slow_cases("astray")
@pytest.mark.parametrize("how", [operator.add, operator.sub])
@pytest.mark.parametrize("name", PAIRS)
def test_sums_and_differences(name, how):
    A, B = PAIRS[name]
    expected = how(np.asarray(A.todense()), np.asarray(B.todense()))
    C = how(A, B)
    np.testing.assert_array_equal(C.todense(), expected)
    np.testing.assert_array_equal(jax.jit(how)(A, B).todense(), expected)
    weights = jax.jit(lambda a, b: how(A.with_data(a), B.with_data(b)).data)(A.data, B.data)
    assert weights.shape == C.data.shape  # the structure is known, though the weights are traced
    C.T.T.check()


@pytest.mark.slow_cases("astray", "one weight")
@pytest.mark.parametrize("name", PAIRS)
def test_products_element_by_element(name):
    A, B = PAIRS[name]
    expected = np.asarray(A.todense()) * np.asarray(B.todense())
    C = A * B
    np.testing.assert_array_equal(C.todense(), expected)
    np.testing.assert_array_equal(A.multiply(B).todense(), expected)
    np.testing.assert_array_equal(np.multiply(B, A).todense(), expected)
    traced = jax.jit(operator.mul)(A, B)
    np.testing.assert_array_equal(traced.todense(), expected)
    assert traced.nse == A.nse
    weights = jax.jit(lambda a, b: (A.with_data(a) * B.with_data(b)).data)(A.data, B.data)
    assert weights.shape == C.data.shape  # the structure is known, though the weights are traced
    (a, (row, col)), there = C.to_coo(), (np.asarray(A.todense()) != 0) & (np.asarray(B.todense()) != 0)
    assert a.size == len({*zip(row.tolist(), col.tolist(), strict=True)}) >= np.count_nonzero(there)


def test_a_product_element_by_element_has_what_both_have():
    A, B = small(), small(indices=np.array([1, 0, 0]))
    C = A * B
    assert (C.indices.tolist(), C.indptr.tolist(), C.data.tolist()) == ([1, 0], [0, 1, 2], [2, 9])
    S = A.to_scipy().multiply(B.to_scipy())
    assert C.nse == S.nnz and C.allclose(CSR(S.tocsr()), 0, 0)
    planned = A.plan() * A
    assert planned.by_column is not None and planned.same_structure(A)
    assert (A.T * B.T).transposed and (A * A.with_data(2.0)).data.tolist() == [4, 2, 6]
    # What one of both does not have is no factor, not even of infinity.
    wild = A.with_data(np.array([np.inf, 1, np.nan], "f")) * small(indices=np.array([1, 1, 1]))
    assert wild.todense()[0].tolist() == [0, 3, 0] and (wild.todense()[1] == 0).all()
    D = np.arange(6, dtype="f").reshape(2, 3)
    np.testing.assert_array_equal(A.multiply(D).todense(), DENSE * D)


def test_duplicates_are_added_up_before_they_are_multiplied():
    A, B = small(indices=np.array([2, 2, 0])), small(indices=np.array([2, 2, 1]))
    for C in (A * B, A * A, jax.jit(operator.mul)(A, B), jax.jit(lambda A: A * A)(A)):
        assert C.todense()[0, 2] == 9
    assert (A * B).nse == 1 and jax.jit(operator.mul)(A, B).nse == 3


@pytest.mark.parametrize("how", [lambda f: f, jax.jit], ids=["known", "jit"])
def test_gradients_of_products_element_by_element(how):
    A, B = PAIRS["overlap"]
    D = np.random.default_rng(0).standard_normal(A.shape).astype("f")

    def loss(a, b, product=lambda A, B: (A * B).todense()):
        return (product(A.with_data(a), B.with_data(b)) * D).sum()

    found = jax.grad(how(lambda a, b: loss(a, b)), (0, 1))(A.data, B.data)
    expected = jax.grad(lambda a, b: loss(a, b, lambda A, B: A.todense() * B.todense()), (0, 1))(
        A.data, B.data
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    traced = jax.grad(lambda A: (A * B).data.sum(), allow_int=True)
    np.testing.assert_allclose(traced(A).data, jax.jit(traced)(A).data, rtol=1e-6)


def test_a_sum_has_the_union_of_both_structures():
    A, B = small(), small(indices=np.array([1, 0, 0]))
    C = A + B
    np.testing.assert_array_equal(C.indices, [0, 1, 2, 0])
    np.testing.assert_array_equal(C.data, [1, 3, 2, 6])
    assert (A.T + B.T).transposed
    assert jax.jit(operator.add)(A, B).nse == A.nse + B.nse
    assert sum([A, B, A]).allclose(A + A + B)


@pytest.mark.slow
def test_gradients_of_sums_reach_both():
    A, B = PAIRS["astray"]
    D = np.random.default_rng(0).standard_normal(A.shape).astype("f")

    def loss(a, b, add):
        return (add(A.with_data(a), B.with_data(b)).todense() * D).sum()

    for add in (operator.sub, jax.jit(operator.sub)):
        for x, slope, sign in zip((A, B), jax.grad(loss, (0, 1))(A.data, B.data, add), (1, -1), strict=True):
            np.testing.assert_allclose(slope, sign * jax.grad(lambda w, x=x: loss_of(x, w, D))(x.data))


def loss_of(A, data, D):
    return (A.with_data(data).todense() * D).sum()


@pytest.mark.slow
def test_equal_elements_make_equal_matrices():
    A = drawn(0, 6, 5, 12)
    merged = A + drawn(0, 6, 5, 0)
    assert not A.same_structure(merged)
    for close in (CSR.allclose, jax.jit(CSR.allclose)):
        assert close(A, merged) and close(A.T, merged.T) and close(A, A)
        assert not close(A, 2 * A) and not close(A, drawn(1, 6, 5, 12))
    assert A.allclose(A * 1.0001, rtol=1e-3) and not A.allclose(A * 1.0001, rtol=0, atol=0)
    lost = small(data=np.array([np.nan, 1, 3], "f"))
    assert not lost.allclose(lost) and lost.allclose(lost, equal_nan=True)
    assert PAIRS["astray"][0].allclose(PAIRS["astray"][0])


FACTORS = {
    "plain": (drawn(0, 6, 5, 12), drawn(1, 5, 7, 11)),
    "left turned": (drawn(0, 5, 6, 12).T, drawn(1, 5, 7, 11)),
    "right turned": (drawn(0, 6, 5, 12), drawn(1, 7, 5, 11).T),
    "both turned": (drawn(0, 5, 6, 12).T, drawn(1, 7, 5, 11).T),
    "astray": (drawn(0, 6, 5, 14, astray=True), drawn(1, 5, 7, 15, astray=True)),
    "one weight": (drawn(0, 6, 5, 12).with_data(2.0), drawn(1, 5, 7, 9).with_data(3.0)),
    "no products": (drawn(0, 6, 5, 12), drawn(1, 5, 7, 0)),
    "nothing between": (drawn(0, 6, 0, 0), CSR(np.zeros(0, "f"), np.zeros(0, int), [0], shape=(0, 7))),
    "no columns": (drawn(0, 6, 5, 12), drawn(1, 5, 0, 0)),
}
ROOM = 80


@pytest.mark.slow_cases("astray", "right turned")
@pytest.mark.parametrize("name", FACTORS)
def test_products_of_two(name):
    A, B = FACTORS[name]
    expected = np.asarray(A.todense()) @ np.asarray(B.todense())
    C = A @ B
    assert C.shape == expected.shape
    np.testing.assert_array_equal(C.todense(), expected)
    C.check()
    weights = jax.jit(lambda a, b: (A.with_data(a) @ B.with_data(b)).data)(A.data, B.data)
    np.testing.assert_array_equal(weights, C.data)
    traced = jax.jit(lambda A, B: A.matmul(B, nse=ROOM))(A, B)
    assert traced.nse == ROOM
    np.testing.assert_array_equal(traced.todense(), expected)
    np.testing.assert_array_equal(A.matmul(B, nse=ROOM).todense(), expected)


@pytest.mark.parametrize("make", [laplacian, lambda: scipy.sparse.random_array((70, 70), density=0.1, rng=0)])
def test_products_have_the_structure_of_scipy(make):
    S = make().tocsr().astype("f")
    A, expected = CSR(S), S @ S.T
    C = A @ A.T
    assert C.nse == expected.nnz
    np.testing.assert_allclose(C.todense(), expected.toarray(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("nse", [None, ROOM])
def test_gradients_of_products_reach_both(nse):
    A, B = FACTORS["right turned"]
    D = np.random.default_rng(0).standard_normal((A.shape[0], B.shape[1])).astype("f")

    def loss(a, b):
        return (A.with_data(a).matmul(B.with_data(b), nse=nse).todense() * D).sum()

    def dense(a, b):
        return ((A.with_data(a).todense() @ B.with_data(b).todense()) * D).sum()

    for x, y in zip(*(jax.grad(f, (0, 1))(A.data, B.data) for f in (loss, dense)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_a_product_without_room_is_seen():
    A, B = FACTORS["plain"]
    need = int(np.diff(B.indptr)[A.indices].sum())
    with pytest.raises(ValueError, match=rf"A.matmul: nse is {need - 1}, and there are {need} entries"):
        A.matmul(B, nse=need - 1)
    short = jax.jit(lambda A, B: A.matmul(B, nse=need - 1))
    assert np.isnan(short(A, B).data).all() and short(A, B).indptr[-1] == need
    with event_ops.validate():
        with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match=f"number of entries is {need}, "):
            jax.block_until_ready(short(A, B))
        jax.jit(lambda A, B: A.matmul(B, nse=need))(A, B)


WRONG = {
    "dense factor": (lambda A: A.matmul(DENSE.T), TypeError, r"A @ CSR\(x\), or A @ x for a dense x"),
    "factor of another shape": (lambda A: A @ A, ValueError, r"expected \(3, n\).*it fits B.T"),
    "traced": (jax.jit(lambda A: A @ A.T), ValueError, r"A.matmul\(B, nse=...\)"),
    "element by element": (lambda A: A * A.T, ValueError, r"shapes \(2, 3\) and \(3, 2\); .*A @ B"),
    "SciPy": (lambda A: A * A.to_scipy(), TypeError, r"A.tocsr\(\) \* CSR\(B\)"),
    "division": (lambda A: A / A, TypeError, r"dividing two sparse matrices.*to_scipy"),
    "ELL": (lambda A: ELL.from_csr(A, per_row=2).multiply(A), TypeError, r"A.tocsr\(\) \* CSR"),
    "shapes": (lambda A: A + A.T, ValueError, r"shapes \(2, 3\) and \(3, 2\); expected one"),
    "dense term": (lambda A: A + DENSE, TypeError, r"A.todense\(\) \+ x, or A \+ CSR\(x\)"),
    "close to dense": (lambda A: A.allclose(DENSE), TypeError, r"A.allclose\(CSR\(x\)\)"),
    "close to another shape": (lambda A: A.allclose(A.T), ValueError, "expected one shape"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_say_what_to_do(name):
    call, error, match = WRONG[name]
    with pytest.raises(error, match=match):
        call(small())


def test_a_product_and_a_sum_have_the_products_of_any_matrix():
    A, B = FACTORS["plain"]
    C, D = (A @ B).plan(), np.asarray((A @ B).todense())
    spikes = np.arange(7) % 3 == 0
    np.testing.assert_array_equal(C @ Events(spikes), D @ spikes)
    np.testing.assert_array_equal((A @ B).T @ A.todense(), D.T @ np.asarray(A.todense()))


@pytest.mark.slow_cases("int32", "uint32")
@pytest.mark.parametrize("kind", ["int32", "int64", "uint32"])
def test_structures_of_any_integers_where_jax_has_64_bits(kind):
    with jax.enable_x64(True):
        parts = [np.array(x, kind) for x in ([2, 1, 0], [0, 2, 3])]
        A = CSR(np.array([2, 1, 3], "f"), *parts, shape=(2, 3))
        B, spread = A.T.tocsr(), CSR.random((3, 2), key=jax.random.key(0), density=0.5, dtype="float32")
        for f, expected in (
            (lambda A, B: A.matmul(B, nse=9), DENSE @ DENSE.T),
            (lambda A, B: A.rows(np.array([1, 0]), nse=4), DENSE[::-1]),
            (lambda A, B: B + spread, DENSE.T + spread.todense()),
            (lambda A, B: A.add_diagonal(1), DENSE + np.eye(2, 3, dtype="f")),
        ):
            np.testing.assert_array_equal(jax.jit(f)(A, B).todense(), expected)
        assert jax.jit(CSR.allclose)(A, B.T)
        np.testing.assert_array_equal((A @ B)[[1]].todense(), (DENSE @ DENSE.T)[1:])


@pytest.mark.slow_cases("weight3")
@pytest.mark.parametrize("weight", [np.float32(-1), np.int32(-1), np.complex64(-1j), np.float32(0)])
def test_known_and_traced_weights_give_one_structure_in_which_sums_of_zero_stay(weight):
    kind = weight.dtype
    row, column = np.int32([0, 0, 0, 2]), np.int32([1, 0, 1, 1])
    A = CSR.from_coo(row, column, np.array([1, 1, 0, 2], kind), shape=(3, 2))
    B = CSR(np.array([1, 1, weight], kind), np.int32([2, 0, 2]), np.int32([0, 1, 3]), shape=(2, 3))
    known = A @ B
    traced = jax.jit(lambda a, b: (A.with_data(a) @ B.with_data(b)).data)(A.data, B.data)
    np.testing.assert_array_equal(known.indices, [0, 2, 0, 2])
    np.testing.assert_array_equal(known.indptr, [0, 2, 2, 4])
    np.testing.assert_array_equal(known.data, traced)
    np.testing.assert_array_equal(known.todense(), np.asarray(A.todense()) @ np.asarray(B.todense()))
    assert known.dtype == kind
