"""Event-driven products with a dense matrix: a batch of vectors is one product with a matrix."""

import jax
import numpy as np
import pytest
from implemented import backends
from jax.test_util import check_grads

from event_ops import dense_event_matmat, dense_event_matvec

SHAPE = (23, 17)


def arrays(transpose, kind, n=40):
    rng = np.random.default_rng(0)
    W, X = rng.standard_normal(SHAPE).astype("f"), rng.standard_normal((n, SHAPE[not transpose])).astype("f")
    X = X * (rng.random(X.shape) < 0.3)
    return W, X.astype(kind)


@backends("dense_event_matmat")
@pytest.mark.parametrize("kind", ["bool", "float32"])
@pytest.mark.parametrize("transpose", [False, True])
def test_vmap_over_vectors_is_one_product_with_a_matrix(backend, transpose, kind):
    W, X = arrays(transpose, kind)
    how = {"transpose": transpose, "backend": backend}
    batched = jax.vmap(lambda x: dense_event_matvec(W, x, **how))
    np.testing.assert_allclose(batched(X), X @ (W if transpose else W.T), rtol=1e-5, atol=1e-5)
    names = [eqn.primitive.name for eqn in jax.make_jaxpr(batched)(X).eqns]
    assert "dense_event_matmat" in names and "dense_event_matvec" not in names


@backends("dense_event_matmat")
@pytest.mark.parametrize("transpose", [False, True])
def test_an_inactive_event_hides_any_weight(backend, transpose):
    events = np.zeros((2, 40), bool)
    events[0, 3] = events[1, :30] = True
    W = np.array([[np.nan, 1], [1, np.inf]], "f")
    Y = np.asarray(dense_event_matmat(W, events, transpose=transpose, backend=backend))
    expected = np.where(events, np.diag(W)[:, None], 0) + np.where(events[::-1], 1, 0)
    np.testing.assert_array_equal(Y, expected.astype("f"))


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("kind", ["bool", "float32"])
def test_a_batch_has_one_gradient_of_the_weights(transpose, kind):
    W, X = arrays(transpose, kind, n=3)

    def batched(W):
        return jax.vmap(lambda x: dense_event_matvec(W, x, transpose=transpose, backend="reference"))(X)

    check_grads(batched, (W,), order=2, modes=("fwd", "rev"), atol=0.02, rtol=0.02)
    closed = jax.make_jaxpr(jax.grad(lambda W: (batched(W) ** 2).sum()))(W)
    assert max(out.aval.size for eqn in closed.eqns for out in eqn.outvars) < 2 * W.size


def test_an_infinite_cotangent_does_not_reach_weights_of_inactive_bools():
    events = np.array([[True, False], [False, False]])
    _, pull = jax.vjp(lambda W: dense_event_matmat(W, events), np.ones((1, 2), "f"))
    np.testing.assert_array_equal(pull(np.array([[3, np.inf]], "f"))[0], [[3, 0]])
