"""Free slots are no entries: whatever a `CSR` becomes, after `prune` and `rewire`, is as without them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from small_matrix import DENSE, small

import ffi_bridge
from event_ops import CSR, ELL, Events, shard_csr

SHAPE = (6, 5)
RNG = np.random.default_rng(8)


@pytest.fixture(autouse=True)
def _reference():
    """Nothing here depends on the backend, and the reference has nothing to compile."""
    with ffi_bridge.use_backend("reference"):
        yield


def whole():
    D = np.where(RNG.random(SHAPE) < 0.7, RNG.integers(1, 9, SHAPE), 0).astype("f")
    return CSR.from_dense(D)


A = whole()
CUT = np.arange(A.nse) % 3 == 1
FORMS = {
    "pruned": lambda: A.prune(CUT),
    "planned": lambda: A.plan().prune(CUT),
    "transposed": lambda: A.prune(CUT).T,
    "planned, transposed": lambda: A.plan(weights=False).prune(CUT).T,
    "one weight": lambda: A.with_data(2.0).prune(CUT),
    "all free": lambda: A.prune(np.ones(A.nse, bool)),
    "rewired": lambda: A.prune(CUT).rewire(CUT & (np.arange(A.nse) % 2 == 0), 3.0, seed=1, step=0),
    "rows": lambda: A.prune(CUT)[[4, 0, 2]],
    "jit": lambda: jax.jit(lambda A: A.prune(CUT))(A),
}


@pytest.fixture(params=FORMS)
def matrix(request):
    """A matrix with free slots, and the dense one that a loop over its entries reads."""
    M = FORMS[request.param]()
    D = np.zeros(M.stored_shape, "f")
    row = np.repeat(np.arange(M.stored_shape[0]), np.diff(M.indptr))
    for i, j, w in zip(row, np.asarray(M.indices), np.asarray(M.repeated_data()), strict=True):
        if j < M.stored_shape[1]:
            D[i, j] += w
    return M, D.T if M.transposed else D


@pytest.mark.slow_cases("planned", "planned, transposed", "rows", "jit")
def test_it_becomes_any_other_matrix(matrix, tmp_path):
    M, D = matrix
    count = int((~M.free).sum())
    S = M.to_scipy()
    np.testing.assert_array_equal(S.toarray(), D)
    assert S.nnz == count
    for name in ("A.mtx", "A.npz"):
        M.save(tmp_path / name)
        np.testing.assert_array_equal(CSR.load(tmp_path / name).todense(), D)
    bcsr = M.to_bcsr()
    np.testing.assert_array_equal(bcsr.todense(), D)
    assert bcsr.indices.shape == (count,)
    for B in (CSR(M.to_coo(), shape=M.shape), CSR(M), CSR(bcsr)):
        np.testing.assert_array_equal(B.todense(), D)
        assert B.nse == count and not B.free.any()
        B.check()
    E = ELL.from_csr(M, per_row=SHAPE[1] + 1)
    np.testing.assert_array_equal(E.todense(), D)
    np.testing.assert_array_equal(E.tocsr().todense(), D)
    np.testing.assert_array_equal(M.tocsr().todense(), D)
    if M.data.ndim and count:
        np.testing.assert_array_equal(M.compact().todense(), D)


@pytest.mark.slow_cases("planned", "transposed", "one weight", "all free", "rewired", "jit")
def test_what_it_tells_and_gives_is_as_without_them(matrix):
    M, D = matrix
    rows, columns = M.shape
    B, wide = CSR(D), 1.0 + np.arange(D.size, dtype="f").reshape(D.shape)
    assert M.allclose(B, 0, 0) and B.allclose(M, 0, 0)
    for got, expected in (
        (M.T, D.T),
        (M + B, 2 * D),
        (M - M, 0 * D),
        (M @ M.T, D @ D.T),
        (M.matmul(M.T, nse=200), D @ D.T),
        (M * wide, D * wide),
        (M / wide, D / wide),
        (abs(-M), D),
        (M.add_diagonal(1.0), D + np.eye(*D.shape)),
        (M[::-1], D[::-1]),
        (M[:, 1:], D[:, 1:]),
    ):
        np.testing.assert_allclose(got.todense(), expected, rtol=1e-6)
    for got, expected in (
        (M.sum(), D.sum()),
        (M.sum(0), D.sum(0)),
        (M.sum(1), D.sum(1)),
        (M.diagonal(), np.diagonal(D)),
        (M @ np.ones(columns, "f"), D.sum(1)),
        (Events(np.ones(rows, bool)) @ M, D.sum(0)),
        (M @ Events(np.ones(columns, bool)), D.sum(1)),
        (M @ wide.T, D @ wide.T),
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    mesh = Mesh(np.array(jax.devices()[:1]), ("x",))
    sharded = shard_csr(M, mesh, "x")
    np.testing.assert_array_equal(sharded.gather(sharded @ np.ones(columns, "f")), D.sum(1))


def test_the_text_tells_how_many_are_free():
    assert "3 entries (0.5 of all), 1 of them free, float32" in repr(small().prune(np.arange(3) == 1))
    assert "free" not in repr(small())


def test_columns_count_the_entries_that_a_row_holds():
    M = small(indptr=np.array([0, 1, 2]), validate=False)
    np.testing.assert_array_equal(M.T.row_lengths, (np.asarray(M.todense()) != 0).sum(0))


def test_only_a_free_slot_is_left_out():
    wrong = small(indices=np.array([2, 4, 0]), validate=False)
    for call in (wrong.to_scipy, wrong.compact, lambda: CSR(wrong)):
        with pytest.raises(ValueError, match=r"indices\[1\] is 4"):
            call()


def test_weights_of_the_others_have_gradients():
    M, x = small().prune(np.arange(3) == 1), jnp.ones(3)
    slope = jax.grad(lambda w: (CSR(M.with_data(w)) @ x).sum())(M.data)
    np.testing.assert_array_equal(slope, [1, 0, 1])
    np.testing.assert_array_equal(M.todense(), np.where(DENSE == 1, 0, DENSE))
