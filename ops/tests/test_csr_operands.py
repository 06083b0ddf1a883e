"""What meets a `CSR` in a product: many axes, other dtypes, other sparse matrices, NumPy and SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from jax.experimental import sparse
from jax.test_util import check_grads
from small_matrix import DENSE, formats, small

import ffi_bridge
from event_ops import CSR, Events

RNG = np.random.default_rng(0)
V = np.array([1, 2, 4], "f")


@pytest.fixture(autouse=True)
def _reference():
    """A backend is chosen after all of this, and the reference has nothing to compile."""
    with ffi_bridge.use_backend("reference"):
        yield


@formats
@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize("shape", [(5, 3, 2), (2, 4, 3, 1), (0, 3, 2), (2, 3, 0)])
def test_axes_before_the_last_two_are_those_of_jnp_matmul(small, shape, planned):
    A = small().plan() if planned else small()
    X = RNG.integers(-4, 5, shape).astype("f")
    Y = X.mT
    for result, expected in (
        (A @ X, jnp.matmul(DENSE, X)),
        (Y @ A.T, jnp.matmul(Y, DENSE.T)),
        (A @ Events(X), jnp.matmul(DENSE, X)),
        (Events(Y > 0) @ A.T, jnp.matmul((Y > 0).astype("f"), DENSE.T)),
    ):
        assert result.shape == expected.shape
        np.testing.assert_array_equal(result, expected)


@pytest.mark.slow
def test_gradients_through_many_axes():
    X, A = RNG.standard_normal((4, 3, 2)).astype("f"), small()
    slope = jax.grad(lambda w, X: (A.with_data(w) @ X).sum(), argnums=(0, 1))(A.data, X)
    dense = jax.grad(lambda D, X: (D @ X).sum(), argnums=(0, 1))(jnp.asarray(DENSE), X)
    np.testing.assert_allclose(slope[0], dense[0][[0, 0, 1], A.indices], rtol=1e-6)
    np.testing.assert_allclose(slope[1], dense[1], rtol=1e-6)


def test_a_number_as_weight_does_not_give_way_to_16_bits():
    with jax.numpy_dtype_promotion("standard"):
        result = small(data=2.0) @ jnp.ones(3, jnp.float16)
    assert result.dtype == "float32" and result.tolist() == [4, 2]


MEETINGS = [
    *(
        ("float32", other)
        for other in ("bool", "int32", "uint8", "float16", "bfloat16", "float64", "complex64")
    ),
    *(("int32", other) for other in ("bool", "int8", "float32", "complex64")),
    *(("float64", other) for other in ("float32", "int32", "bool")),
    ("complex64", "float64"),
]


@formats
@pytest.mark.parametrize(("weights", "other"), MEETINGS)
def test_dtypes_are_promoted_as_jax_does(small, weights, other):
    with jax.enable_x64(True):
        A, D = small(data=np.array([2, 1, 3], weights)), jnp.asarray(DENSE, weights)
        x = jnp.asarray([1, 0, 1], other)
        for product in (lambda: A @ x, lambda: x @ A.T):
            with jax.numpy_dtype_promotion("standard"):
                expected, result = D @ x, product()
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected)
            with pytest.raises(ValueError, match="no available implicit dtype promotion"):
                product()


@formats
@pytest.mark.parametrize("planned", [False, True])
def test_events_of_another_width_are_promoted(small, planned):
    A = small().plan() if planned else small()
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        y = A @ Events(V.astype("float64"))
        assert y.dtype == "float64"
        np.testing.assert_array_equal(y, DENSE @ V)


@formats
def test_events_meet_weights_that_are_no_floats(small):
    with jax.numpy_dtype_promotion("standard"):
        np.testing.assert_array_equal(small().astype(int) @ Events(V / 2), DENSE @ V / 2)
    with pytest.raises(TypeError, match="data has dtype complex64; expected float32 or float64"):
        small().astype("complex64") @ Events(V)


@formats
def test_the_error_of_strict_promotion_names_events_for_bools(small):
    with pytest.raises(ValueError, match="dtype promotion") as caught:
        small() @ (V > 1)
    assert "A @ Events(x)" in caught.value.__notes__[0]
    with pytest.raises(ValueError, match="dtype promotion") as caught:
        small() @ V.astype(int)
    assert not hasattr(caught.value, "__notes__")


SPARSE = {
    "SciPy's array": scipy.sparse.csr_array,
    "SciPy's matrix": scipy.sparse.coo_matrix,
    "BCOO": sparse.BCOO.fromdense,
    "BCSR": sparse.BCSR.fromdense,
}


@pytest.mark.parametrize("name", SPARSE)
def test_a_product_with_another_sparse_matrix_asks_for_a_csr(name):
    A, B = small(), SPARSE[name](DENSE.T)
    with pytest.raises(TypeError, match=r"two CSRs, A @ CSR\(B\) .* B.todense\(\)"):
        A @ B
    np.testing.assert_array_equal((A @ CSR(B)).todense(), DENSE @ DENSE.T)
    with pytest.raises(TypeError, match=r"two sparse matrices .* use A\.tocsr\(\) \* CSR\(B\)"):
        A * B
    with pytest.raises(TypeError, match=r"CSR\(S\) @ A" if name[0] == "S" else "got .*sparse.csr.CSR"):
        B @ A


@pytest.mark.parametrize("call", [np.asarray, np.array, jnp.asarray, lambda A: np.dot(A, V)])
def test_numpy_makes_no_object_of_a_matrix(call):
    with pytest.raises(TypeError, match=r"CSR is not made a NumPy array unasked; use A.todense\(\).* A @ x"):
        call(small())
    with pytest.raises(TypeError, match=r"Events is not made a NumPy array unasked|must be real|float\(\)"):
        call(Events(V))


@pytest.mark.slow
def test_ufuncs_are_the_operators():
    A = small(data=np.array([-2, 1, 3], "f"))
    D, u = np.asarray(A.todense()), V[:2]
    for result, expected in (
        (np.matmul(A, V), D @ V),
        (np.matmul(u, A), u @ D),
        (np.multiply(A, np.float32(2)).todense(), 2 * D),
        (np.multiply(V, A).todense(), V * D),
        (np.true_divide(A, V).todense(), D / V),
        (np.negative(A).todense(), -D),
        (np.abs(A).todense(), abs(D)),
        (np.add(A, A).todense(), 2 * D),
        (np.subtract(A, A).todense(), 0 * D),
    ):
        np.testing.assert_array_equal(result, expected)
    assert np.sum(A) == 2
    np.testing.assert_array_equal(np.sum(A, 0, "int32"), D.sum(0))
    for call in (np.exp, np.add.reduce, lambda A: D == A, lambda A: np.matmul(A, V, out=np.zeros(2, "f"))):
        with pytest.raises(TypeError, match=r"is not an operator of CSR; .*A.with_data\(f\(A.data\)\)"):
            call(A)


@pytest.mark.slow
def test_the_absolute_value_is_that_of_the_sum_where_entries_share_a_place():
    data = np.array([1, -2, 3, -4, 5], "f")
    A = CSR(data, [1, 0, 1, 0, 0], [0, 0, 3, 5], shape=(3, 2))
    D = np.asarray(A.todense())
    for M, E in ((A, D), (A.T, D.T), (A.plan(), D)):
        np.testing.assert_array_equal(abs(M).todense(), abs(E))
        np.testing.assert_array_equal(jax.jit(abs)(M).todense(), abs(E))
        assert abs(M).same_structure(M)
    np.testing.assert_array_equal(abs(A.plan()) @ Events(np.ones(2, bool)), abs(D).sum(1))
    np.testing.assert_array_equal(
        abs(A.with_data(-2.0)).todense(), abs(np.asarray(A.with_data(2.0).todense()))
    )
    np.testing.assert_array_equal(abs(small(data=np.array([3 + 4j, 0, 0], "c8"))).data, [5, 0, 0])
    empty = CSR(np.zeros(0, "f"), np.zeros(0, int), np.zeros(2, int), shape=(1, 1))
    assert abs(empty).nse == 0


def test_names_of_scipy():
    A = small(data=np.array([0, 1, 3], "f"))
    assert A.nnz == A.nse == A.to_scipy().nnz == 3
    np.testing.assert_array_equal(A.toarray(), A.todense())
    np.testing.assert_array_equal(A.dot(V), A @ V)


@pytest.mark.slow
def test_solvers_of_scipy_and_jax_take_the_matrix():
    rng = np.random.default_rng(1)
    M = np.where(rng.random((8, 8)) < 0.4, rng.standard_normal((8, 8)), 0) * (1 + 0.5j)
    b = rng.standard_normal(8) * (2 - 1j)
    with jax.enable_x64(True):
        A, H = CSR(M), CSR(M @ M.conj().T + np.eye(8))
        L = scipy.sparse.linalg.aslinearoperator(A)
        assert (L.shape, L.dtype) == (M.shape, M.dtype)
        B = np.stack([b, 2 * b], 1)
        for result, expected in ((L @ b, M @ b), (L @ B, M @ B), (L.H @ b, M.conj().T @ b)):
            np.testing.assert_allclose(result, expected, atol=1e-12)
        np.testing.assert_allclose(A.rmatvec(b[:, None]), M.conj().T @ b[:, None], atol=1e-12)
        x, failed = scipy.sparse.linalg.cg(H, b, rtol=1e-10)
        assert not failed
        np.testing.assert_allclose(H.todense() @ x, b, atol=1e-8)
        again, _ = jax.scipy.sparse.linalg.cg(H.matvec, b, tol=1e-10)
        np.testing.assert_allclose(again, x, atol=1e-8)


@formats
@pytest.mark.parametrize("one", [False, True])
def test_a_value_for_each_row_multiplies_its_weights_in_one_pass(small, one):
    A = small(data=np.float32(2)) if one else small()
    D = 2 * (DENSE != 0) if one else DENSE
    x = np.float32([3, -1])[:, None]
    for B, expected in ((A * x, D * x), ((A.T * x.T).T, D * x), (A * x[:1], D * x[:1])):
        np.testing.assert_array_equal(B.todense(), expected)
    assert "csr_scale_rows" in str(jax.make_jaxpr(lambda A, x: (A * x).data)(A, x))


@pytest.mark.slow
def test_gradients_of_scaled_rows():
    with jax.enable_x64(True):
        A, x = small().astype("float64"), jnp.array([[3.0], [-1.0]])
        check_grads(lambda w, x: (A.with_data(w) * x).data, (A.data, x), order=2)
