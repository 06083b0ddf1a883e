"""`ELL`: what is its own beside what it shares with `CSR`: padding, conversion, how products fold."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from jax.experimental import checkify
from jax.test_util import check_grads
from small_matrix import DENSE, small, small_ell

import event_ops
import ffi_bridge
from event_ops import CSR, ELL, Events, csr_event_matmat, csr_matmat

V = np.array([1, 2, 4], "f")
FULL = np.array([[1, 0, 2], [0, 3, 4]], "f")


def full():
    return ELL.from_dense(FULL)


def primitives(function, *args):
    closed = jax.make_jaxpr(function)(*args)
    return [eqn.primitive.name for eqn in closed.eqns]


@pytest.mark.parametrize("padding", [-1, 3, np.iinfo(np.int32).max])
@pytest.mark.parametrize("planned", [False, True])
def test_padding_contributes_nothing_whatever_its_weight(padding, planned):
    A = ELL(np.array([[2, 1], [3, np.nan]], "f"), np.array([[2, 1], [0, padding]]), shape=(2, 3))
    A = A.plan() if planned else A
    for M, D in ((A, DENSE), (A.T, DENSE.T)):
        x, X = np.ones(D.shape[1], "f"), np.eye(D.shape[1], dtype="f")
        np.testing.assert_array_equal(M @ x, D @ x)
        np.testing.assert_array_equal(M @ X, D)
        np.testing.assert_array_equal(M @ Events(x > 0), D @ x)
        np.testing.assert_array_equal(M @ Events(X), D)
        np.testing.assert_array_equal(M.todense(), D)
        np.testing.assert_array_equal(M.tocsr().todense(), D)
        assert M.tocsr().nse == 3 and M.nse == 4
        np.testing.assert_array_equal(jax.jit(lambda M: M.tocsr().todense())(M), D)
        np.testing.assert_array_equal(CSR(M).todense(), D)
        np.testing.assert_array_equal(M.to_scipy().toarray(), D)


def test_conversion_from_csr_and_back():
    S = scipy.sparse.random_array((40, 30), density=0.2, rng=np.random.default_rng(0), dtype="f")
    A = CSR(S)
    longest = int(np.diff(A.indptr).max())
    for B, C in (
        (ELL.from_csr(A, per_row=longest), A),
        (ELL.from_csr(A.T.tocsr().T, per_row=longest + 3), A),
        (ELL.from_csr(A.with_data(2.0), per_row=longest), A.with_data(2.0)),
    ):
        np.testing.assert_array_equal(B.todense(), C.todense())
        np.testing.assert_array_equal(B.tocsr().indices, A.indices)
        assert B.data.ndim == (2 if C.data.ndim else 0)
    assert ELL.from_csr(full().tocsr()).indices.tolist() == [[0, 2], [1, 2]]
    assert ELL.from_csr(CSR.from_dense(np.zeros((3, 2), "f"))).indices.shape == (3, 0)
    with pytest.raises(TypeError, match=r"per_row is 2.5; expected an integer"):
        ELL.from_csr(full().tocsr(), per_row=2.5)


def test_unsigned_columns_that_leave_no_index_for_padding_are_widened():
    columns = 2**32
    with jax.enable_x64(True):
        A = CSR(np.ones(1, "f"), np.array([columns - 1], "u4"), [0, 0, 1], shape=(2, columns))
        B = ELL.from_csr(A, per_row=1)
    assert B.indices.dtype == np.int64 and B.indices.tolist() == [[columns], [columns - 1]]


REFUSED = {
    "rows of different length": (
        lambda: ELL.from_csr(small()),
        r"the rows have 1 to 2 entries; .* pad them, with per_row=2, or keep the CSR",
    ),
    "the same, dense": (lambda: ELL.from_dense(DENSE), "per_row=2"),
    "a longer row": (lambda: ELL.from_csr(small(), per_row=1), "per_row is 1; expected at least 2"),
    "traced": (lambda: jax.jit(lambda A: ELL.from_csr(A).data)(small()), "outside of jit"),
    "no column": (
        lambda: ELL(1.0, np.array([[0, 7]]), shape=(1, 3)),
        r"indices\[0, 1\] is 7, and 1 of 2 .* padding -1, 3 or .*; .*validate=False",
    ),
    "flat": (lambda: ELL(np.ones(2, "f"), np.zeros(2, int), shape=(2, 3)), "indices has 1 dim"),
    "short data": (lambda: small_ell().with_data(np.ones((2, 1), "f")), r"data has shape \(2, 1\)"),
    "rows": (lambda: small_ell(shape=(3, 3)), r"expected \(3, 2\): one row per row of shape"),
    "ids that do not fit": (lambda: small_ell() @ Events(np.zeros(2, "u4"), "bits"), "here for 3 events"),
    "no plan": (
        lambda: small_ell().stdp_on_post(V > 1, V[:2], A_plus=0.1, w_min=0.0, w_max=1.0),
        "the matrix has no plan",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_do(name):
    call, match = REFUSED[name]
    with pytest.raises(ValueError, match=match):
        call()


def test_formats_do_not_add():
    with pytest.raises(TypeError, match="Adding anything but a matrix ELL of the same structure"):
        full() + full().tocsr()
    with pytest.raises(TypeError, match="this ELL is the same object"):
        assert full() == full()
    assert not full().same_structure(full().tocsr()) and full().same_structure(2 * full())


def test_an_index_out_of_range_is_skipped_if_it_is_not_validated():
    A = ELL(np.ones((2, 2), "f"), np.array([[0, 7], [-5, 2]]), shape=(2, 3), validate=False)
    np.testing.assert_array_equal(A @ np.eye(3, dtype="f"), [[1, 0, 0], [0, 0, 1]])
    error, _ = checkify.checkify(jax.jit(lambda A: A.check()))(A)
    with pytest.raises(Exception, match="2 of 4 indices are wrong; expected 0 to 2, for 3 columns, or"):
        error.throw()
    checkify.checkify(jax.jit(lambda A: A.check()))(small_ell().plan())[0].throw()


@pytest.mark.slow
def test_the_validate_mode_takes_padding_and_refuses_other_columns():
    A, broken = small_ell(), small_ell(indices=np.array([[2, 1], [0, 9]]), validate=False)
    X = np.eye(3, dtype="f")
    for product in (lambda A: A @ X, lambda A: A @ Events(X), lambda A: A @ V, lambda A: A.todense()):
        with event_ops.validate():
            product(A)
            with pytest.raises(ValueError, match=r"ell_.*: indices\[1, 1\] is 9"):
                product(broken)


@pytest.mark.parametrize("transposed", [False, True])
def test_vmap_over_vectors_is_one_product_with_a_matrix(transposed):
    A = full().T if transposed else full()
    X = np.arange(4 * A.shape[1], dtype="f").reshape(4, -1)
    for batched, folded in (
        (jax.vmap(lambda x: A @ x), "csr_matmat"),
        (jax.vmap(lambda x: A @ Events(x)), None if transposed else "csr_event_matmat"),
    ):
        np.testing.assert_array_equal(batched(X), X @ A.todense().T)
        matmats = [name for name in primitives(batched, X) if name.endswith("matmat")]
        assert matmats == ([folded] if folded else [])


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["each", "one"])
def test_gradients_are_those_of_csr(weights):
    rng = np.random.default_rng(0)
    indices = rng.integers(-1, 6, (5, 3))
    data = rng.standard_normal((5, 3)) if weights == "each" else np.array(0.7)
    with jax.enable_x64(True), ffi_bridge.use_backend("reference"):
        A = ELL(data, indices, shape=(5, 6))
        X = rng.standard_normal((6, 4)) * (rng.random((6, 4)) < 0.5)

        def loss(w, X):
            B = A.with_data(w)
            return jnp.sin(B @ X) + B @ Events(X) + (Events(X.T) @ B.T).T + B @ X[:, :1]

        check_grads(loss, (A.data, X), order=2, atol=1e-4, rtol=1e-4)


def test_products_with_matrices_are_those_of_the_same_entries_as_csr():
    rng = np.random.default_rng(0)
    data, indices = rng.standard_normal((50, 7)).astype("f"), rng.integers(0, 40, (50, 7))
    A, X = ELL(data, indices, shape=(50, 40)), rng.standard_normal((40, 9)).astype("f")
    flat = data.ravel(), indices.ravel(), np.arange(51) * 7
    np.testing.assert_array_equal(A @ X, csr_matmat(*flat, X, shape=A.shape))
    np.testing.assert_array_equal(A @ Events(X > 1), csr_event_matmat(*flat, X > 1, shape=A.shape))


def test_text_and_leaves():
    A = small_ell()
    text = "ELL(2 x 3, 2 entries per row (0.67 of all), float32, indices int32"
    assert repr(A) == f"{text})"
    assert repr(A.plan()) == f"{text}, planned)"
    assert repr(A.T).startswith("ELL(3 x 2, 2 entries per column")
    assert "one weight, float32" in repr(small_ell(data=np.float32(2)))
    assert repr(jax.tree.map(lambda x: jnp.stack([x, x]), A)) == f"{text}, a batch of (2,))"
    assert "? entries per row, object" in repr(jax.tree.map(lambda x: object(), A))
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(A)]
    assert paths == [".data", ".indices"]


@pytest.mark.slow
def test_stdp_with_a_rule_for_each_synapse():
    A = full().plan(weights=False)
    rate = np.array([[0.5, 0.1], [0.2, 0.4]], "f")
    B = A.stdp_on_pre(
        np.array([True, False]), np.ones(3, "f"), A_minus=rate, w_min=np.zeros((2, 2), "f"), w_max=9.0
    )
    np.testing.assert_allclose(B.data, [[0.5, 1.9], [3, 4]])
    C = B.stdp_on_post(
        np.array([False, False, True]), np.ones(2, "f"), A_plus=rate, w_min=0.0, w_max=np.float32(4.2)
    )
    np.testing.assert_allclose(C.data, [[0.5, 2.0], [3, 4.2]], rtol=1e-6)
