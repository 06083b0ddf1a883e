"""Linear systems solved with a `CSR`: beside SciPy and dense solutions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from small_matrix import small

import ffi_bridge
from event_ops import CSR


@pytest.fixture(autouse=True)
def _reference():
    """A backend is chosen after all of this, and the reference has nothing to compile."""
    with ffi_bridge.use_backend("reference"):
        yield


WRONG = {
    "not square": (lambda A: A.solve(np.ones(2, "f")), r"\(2, 3\); expected a square"),
    "method": (lambda A: (A @ A.T).solve(np.ones(2, "f"), method="lu"), "'lu'; expected one of"),
    "preconditioner": (
        lambda A: (A @ A.T).solve(np.ones(2, "f"), precondition="ilu"),
        "'ilu'; expected 'jacobi', None or a function",
    ),
    "short b": (lambda A: (A @ A.T).solve(np.ones(3, "f")), r"b has shape \(3,\); .*\(2,\)"),
    "short x0": (
        lambda A: (A @ A.T).solve(np.ones(2, "f"), x0=np.ones(3, "f")),
        r"x0 has shape \(3,\)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_systems_are_refused(name):
    call, match = WRONG[name]
    with pytest.raises(ValueError, match=match):
        call(small())


def system(n=30, *, symmetric):
    """A matrix with a diagonal of very different sizes, which is what Jacobi's preconditioner is for."""
    rng = np.random.default_rng(4)
    S = scipy.sparse.random_array((n, n), density=0.15, rng=rng)
    S = S @ S.T if symmetric else S
    return (S + scipy.sparse.diags_array(np.geomspace(3, 300, n))).tocsr(), rng.standard_normal((n, 2))


@pytest.mark.slow_cases("cg", "gmres")
@pytest.mark.parametrize("precondition", ["jacobi", None, lambda x: x / 3])
@pytest.mark.parametrize("method", ["cg", "gmres", "bicgstab"])
def test_solutions_and_their_gradients(method, precondition):
    with jax.enable_x64(True):
        S, B = system(symmetric=method == "cg")
        A, b = CSR(S), B[:, 0]
        options = {"method": method, "precondition": precondition, "tol": 1e-12}
        x = jax.jit(lambda A, b: A.solve(b, **options))(A, b)
        np.testing.assert_allclose(x, scipy.sparse.linalg.spsolve(S.tocsc(), b), rtol=1e-8)
        np.testing.assert_allclose(A.solve(B, **options)[:, 0], x, rtol=1e-8)
        slopes = jax.grad(lambda w, b: (A.with_data(w).solve(b, **options) ** 2).sum(), (0, 1))(A.data, b)
        exact = jax.grad(lambda w, b: (jnp.linalg.solve(A.with_data(w).todense(), b) ** 2).sum(), (0, 1))
        for result, expected in zip(slopes, exact(A.data, b), strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-10)


@pytest.mark.slow
def test_the_diagonal_is_a_preconditioner():
    """It needs fewer steps, so after as many it is nearer."""
    with jax.enable_x64(True):
        S, B = system(200, symmetric=True)
        left = [
            np.linalg.norm(S @ np.asarray(CSR(S).solve(B, maxiter=8, precondition=p)) - B)
            for p in ("jacobi", None)
        ]
        assert left[0] < left[1] / 100


def test_what_is_not_finite_gives_no_solution_and_no_gradient():
    A = CSR.from_dense(np.array([[4, 1], [1, 3]], "f"))
    solve = jax.jit(lambda w, b: A.with_data(w).solve(b))
    for w, b in ((A.data, np.array([np.nan, 1], "f")), (A.data.at[0].set(np.inf), np.ones(2, "f"))):
        assert np.isnan(solve(w, b)).all()
    x, back = jax.vjp(solve, A.data, np.array([6, 7], "f"))
    np.testing.assert_allclose(x, [1, 2], rtol=1e-4)
    assert all(np.isnan(slope).all() for slope in back(np.array([np.nan, 1], "f")))


@pytest.mark.slow
def test_where_a_solution_begins_and_what_it_is_made_of():
    A = CSR.eye(3) * 4
    np.testing.assert_array_equal(A.solve(np.array([4, 8, 12], "f"), maxiter=0, x0=np.arange(3)), [0, 1, 2])
    assert A.astype(int).solve(np.array([4, 8, 12])).dtype == "float32"
    np.testing.assert_allclose(A.astype(int).solve(np.array([4, 8, 12])), [1, 2, 3])
    np.testing.assert_allclose(A.with_data(2.0).solve(np.array([4, 8, 12], "f")), [2, 4, 6])
    hollow = CSR.from_dense(np.array([[0, 2], [1, 0]], "f"))
    np.testing.assert_allclose(hollow.solve(np.array([2, 3], "f"), method="gmres"), [3, 1], rtol=1e-5)
