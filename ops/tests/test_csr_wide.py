"""A `CSR` with more columns than its indices, which fit all the same, can number: right, or refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from jax.experimental import checkify

import event_ops
import ffi_bridge
from event_ops import CSR, ELL

LAST = 2**31 - 1
WIDTHS = (2**31, 2**31 + 5)
INDICES, INDPTR, DATA = np.int32([2, LAST, 0, 2]), np.int32([0, 2, 3, 4]), np.float32([2, 1, 3, 4])
# The same matrix with the columns that have entries, and one that has none.
D = np.zeros((3, 4), "f")
D[[0, 0, 1, 2], [1, 3, 0, 1]] = DATA
NARROW = np.array([0, 2, 7, LAST])


@pytest.fixture(params=WIDTHS, ids=str)
def A(request):
    return CSR(DATA, INDICES, INDPTR, shape=(3, request.param))


def dense(A):
    """Return the columns that have entries, and a seventh that has none; no other column may have any."""
    data, (row, col) = A.to_coo()
    assert np.isin(col, NARROW).all()
    found = np.zeros((A.shape[0], 4), "f")
    np.add.at(found, (np.asarray(row), np.searchsorted(NARROW, col)), data)
    return found


def test_what_it_tells_is_right(A):
    assert A.check() is None and A.T.check() is None
    error, _ = checkify.checkify(jax.jit(lambda A: A.check()))(A)
    assert error.get() is None
    wrong = CSR(DATA, np.int32([2, -1, 0, 2]), INDPTR, shape=A.shape, validate=False)
    assert "1 of 4 indices are wrong" in checkify.checkify(jax.jit(lambda A: A.check()))(wrong)[0].get()
    assert wrong.free.tolist() == [False, True, False, False] and not A.free.any()
    assert A.row_lengths.tolist() == [2, 1, 1]
    for k in (0, 2, LAST, LAST - 1, LAST + 3, -1, -2, -3):
        size = max(min(3 + min(k, 0), A.shape[1] - max(k, 0)), 0)
        expected = np.zeros(size, "f")
        for i, j, w in ((0, 2, 2), (0, LAST, 1), (1, 0, 3), (2, 2, 4)):
            if j - i == k:
                expected[i if k >= 0 else j] = w
        np.testing.assert_array_equal(A.diagonal(k), expected, str(k))
        np.testing.assert_array_equal(jax.jit(lambda A, k=k: A.T.diagonal(-k))(A), expected)
    for M in (A, A.T):
        assert M.allclose(M) and not M.allclose(M * 2)
        assert not M.allclose(CSR(DATA, np.int32([2, 5, 0, 2]), INDPTR, shape=A.shape) if M is A else -M)
    assert f"3 x {A.shape[1]}, 4 entries" in repr(A)


def test_what_it_becomes_is_right(A, tmp_path):
    ids = np.int32([1, 0, 5, 0])
    chosen = D[[1, 0, 0, 0]] * (ids < 3)[:, None]
    np.testing.assert_array_equal(dense(A[[1, 0]]), D[[1, 0]])
    np.testing.assert_array_equal(dense(A.rows(ids)), chosen)
    padded = jax.jit(lambda A: A.rows(ids, nse=9))(A)
    np.testing.assert_array_equal(dense(padded), chosen)
    np.testing.assert_array_equal(padded.indices[5:], [-1] * 4)
    for name in ("A.npz", "A.mtx"):
        A.save(tmp_path / name)
        np.testing.assert_array_equal(dense(CSR.load(tmp_path / name)), D)
    for B in (CSR(A.to_coo(), shape=A.shape), CSR(A.to_bcsr()), CSR(A.to_scipy()), CSR(A), A.T.T):
        np.testing.assert_array_equal(dense(B), D)
    E = ELL.from_csr(A, per_row=3)
    E.check()
    np.testing.assert_array_equal(dense(E.tocsr()), D)
    np.testing.assert_array_equal(dense(abs(-A)), D)
    np.testing.assert_array_equal(dense(A * np.float32([[1], [2], [3]])), D * [[1], [2], [3]])


@pytest.mark.parametrize("how", [lambda f: f, jax.jit], ids=["known", "jit"])
def test_sums_and_products_are_right(A, how):
    B = CSR(np.float32([5, 6]), np.int32([7, LAST]), np.int32([0, 1, 1, 2]), shape=A.shape)
    other = np.float32([[0, 0, 5, 0], [0, 0, 0, 0], [0, 0, 0, 6]])
    np.testing.assert_array_equal(dense(how(lambda A, B: A + B)(A, B)), D + other)
    np.testing.assert_array_equal(dense(how(lambda A, B: (A.T - B.T).T)(A, B)), D - other)
    total = D.copy()
    total[[0, 1, 2], [0, 0, 1]] += [1, 0, 1]
    diagonal = how(lambda A: A.add_diagonal(np.float32([1, 0, 1])))(A)
    assert float(diagonal.data.sum()) == total.sum() and diagonal.diagonal().tolist() == [1, 0, 5]
    left = CSR(np.float32([2, 1, 1]), np.int32([2, 0, 1]), np.int32([0, 1, 3]), shape=(2, 3))
    expected = left.todense() @ D
    product = how(lambda left, A: left.matmul(A, nse=9))(left, A)
    np.testing.assert_array_equal(dense(product), expected)
    if how is not jax.jit:
        np.testing.assert_array_equal(dense(left @ A), expected)
        np.testing.assert_array_equal(dense((A.T @ left.T).T), expected)
        np.testing.assert_array_equal((A @ A.T).todense(), D @ D.T)
        slope = jax.grad(lambda w: (left @ A.with_data(w)).data.sum())(A.data)
        np.testing.assert_array_equal(slope, [1, 1, 1, 2])


X64 = "enable 64-bit types.*then cast it: indices.astype"
REFUSED = {
    "columns": (lambda A: A[:, :5], X64),
    "transposed to CSR": (lambda A: A.T.tocsr(), X64),
    "plan": (lambda A: A.plan(), X64),
    "product of A.T as rows": (lambda A: A.matmul(A.T, nse=9), X64),
    "prune": (lambda A: A.prune(A.data > 2), X64),
    "normalize": (lambda A: A.normalize(1.0, axis=1), X64),
    "rewire": (
        lambda A: A.rewire(A.data > 2, seed=1, step=0),
        "expected at most 2147479552 rows and columns",
    ),
    "compact": (lambda A: A.compact(), "columns leave . bits for a weight; .*keep the CSR"),
    "random": (lambda A: CSR.random(A.shape, key=jax.random.key(0), per_row=2), "more than int32 can count"),
    "eye": (lambda A: CSR.eye(3, 2**31 + 5, k=LAST), "int32 cannot; enable 64-bit types"),
    "unsigned": (
        lambda A: CSR(DATA, INDICES.astype("u4"), INDPTR, shape=A.shape).diagonal(),
        "more than int32 can count",
    ),
    "no index for padding": (
        lambda A: ELL.from_csr(CSR(DATA, INDICES.astype("u4"), INDPTR, shape=(3, 2**32)), per_row=2),
        "there are 4294967296 columns, more than int32 can count",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_rest_is_refused_with_the_way_out(name):
    call, match = REFUSED[name]
    with pytest.raises(ValueError, match=match):
        call(CSR(DATA, INDICES, INDPTR, shape=(3, WIDTHS[name == "eye"])))


LONG = {
    "segment_max": (lambda x, i: event_ops.segment_max(x, i, WIDTHS[1]), ((3,), (3,))),
    "scatter_add": (lambda x, i: event_ops.scatter_add(x, i, jnp.ones(3)), ((WIDTHS[1],), (3,))),
    "csr_matvec": (
        lambda x, i: event_ops.csr_matvec(1.0, i, INDPTR, x, shape=(3, WIDTHS[1])),
        ((WIDTHS[1],), (4,)),
    ),
    "entries of an ELL": (lambda x, i: ELL(x, i, shape=(2**20, 5)) @ jnp.ones((5, 1)), ((2**20, 2**12),) * 2),
}


@pytest.mark.parametrize("name", LONG)
def test_arrays_that_32_bits_cannot_number_are_refused_by_the_reference(name):
    call, shapes = LONG[name]
    given = [jax.ShapeDtypeStruct(*x) for x in zip(shapes, (np.float32, np.int32), strict=True)]
    match = "there are .* more than int32 can count; enable 64-bit types"
    with ffi_bridge.use_backend("reference"), pytest.raises(ValueError, match=match):
        jax.jit(call).lower(*given)


def test_elements_beyond_what_64_bits_can_number_stay_apart():
    # row * columns + column would be equal for two of these.
    with jax.enable_x64(True):
        columns, far = 2**62, 2**61
        row, col, data = np.arange(6), np.int64([0, far, 0, far, 0, far]), np.arange(1.0, 7)
        A = CSR.from_coo(row, col, data, shape=(6, columns))
        total = A + CSR.from_coo(row, col + 1, data, shape=(6, columns))
        assert total.nse == 12 and total.data.tolist() == np.repeat(data, 2).tolist()
        for B in (CSR.eye(6) @ A, CSR.eye(6).matmul(A, nse=6)):
            assert B.nse == 6 and B.allclose(A, 0, 0) and B.indices.tolist() == col.tolist()
        weights = jax.jit(lambda w: (CSR.eye(6) @ A.with_data(w)).data)(A.data)
        np.testing.assert_array_equal(weights, data)


def test_a_product_takes_no_memory_for_columns_without_entries():
    S = scipy.sparse.coo_array(
        (DATA, (np.repeat([0, 1, 2], [2, 1, 1]), INDICES)), shape=(3, WIDTHS[0])
    ).tocsr()
    product = CSR(np.eye(3, dtype="f")) @ CSR(S)
    np.testing.assert_array_equal(dense(product), D)
    assert jnp.all(product.indptr == INDPTR)
