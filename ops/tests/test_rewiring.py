"""Synapses that are pruned and rewired: the structure, its plan, and what reads them afterwards."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import CSR, ELL, Events, csr_rewire

ROWS, COLUMNS, PER_ROW = 30, 20, 6
SHAPE = ROWS, COLUMNS
RNG = np.random.default_rng(2)
INDICES = np.sort(np.argsort(RNG.random(SHAPE))[:, :PER_ROW]).astype(np.int32)
W = RNG.random((ROWS, PER_ROW), "f") + 0.5
SPIKES = RNG.random(ROWS) < 0.4, RNG.random(COLUMNS) < 0.4
ALONE = {"allow_autapses": False, "allow_multapses": False}


def ell():
    return ELL(W, INDICES, shape=SHAPE)


def csr():
    return CSR(W.ravel(), INDICES.ravel(), np.arange(ROWS + 1) * PER_ROW, shape=SHAPE)


FORMS = {
    "ell": ell,
    "csr": csr,
    "planned": lambda: ell().plan(),
    "places": lambda: csr().plan(weights=False),
    "transposed": lambda: ell().plan().T,
}


def dense_of(A):
    """Return the matrix as a loop over the slots reads it."""
    D = np.zeros(SHAPE, "f")
    slots = zip(np.ravel(A.indices), np.ravel(A.repeated_data()), strict=True)
    for k, (j, w) in enumerate(slots):
        if 0 <= j < COLUMNS:
            D[k // PER_ROW, j] += w
    return D.T if A.transposed else D


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_all_that_reads_a_changed_matrix_is_right(form):
    A = FORMS[form]()
    cut = RNG.random(A.indices.shape) < 0.5
    filled = cut & (RNG.random(cut.shape) < 0.7)

    @jax.jit
    def change(A):
        B = A.prune(cut)
        return B, B.rewire(filled, 0.25, seed=1, step=2, **ALONE)

    for B in change(A):
        D = dense_of(B)
        np.testing.assert_array_equal(B.todense(), D)
        pre, post = (x.astype("f") for x in (SPIKES[::-1] if A.transposed else SPIKES))
        for x in (post, Events(post), Events(post > 0)):
            np.testing.assert_allclose(B @ x, D @ post, rtol=1e-5)
        for x in (pre, Events(pre > 0)):
            np.testing.assert_allclose(x @ B, pre @ D, rtol=1e-5)
        if B.by_column is None:
            B = B.plan(weights=False)
        C = B.on_pre(lambda w, *, x_post: w + x_post, pre > 0, x_post=post)
        C = C.on_post(lambda w, *, x_pre: w * (2 + x_pre), post > 0, x_pre=pre)
        expected = D + (D != 0) * pre[:, None] * post
        expected = np.where(post > 0, expected * (2 + pre[:, None]), expected)
        np.testing.assert_allclose(C.todense(), expected, rtol=1e-6)
    assert B.nse == A.nse and (B.by_column is None or B.by_column.permutation.shape == (A.nse,))


def test_slots_are_freed_and_filled_and_others_stay():
    A = ell()
    cut = RNG.random(INDICES.shape) < 0.5
    B = A.prune(cut)
    np.testing.assert_array_equal(B.free, cut)
    np.testing.assert_array_equal(B.indices[~cut], INDICES[~cut])
    np.testing.assert_array_equal(B.data, np.where(cut, 0, W))
    C = B.rewire(cut, W, seed=5, step=0, **ALONE)
    assert not C.free.any()
    np.testing.assert_array_equal(C.indices[~cut], INDICES[~cut])
    for i, row in enumerate(np.asarray(C.indices)):
        assert len(set(row.tolist())) == PER_ROW and i not in row[cut[i]]
    # Pruning first makes no difference to where a slot goes.
    np.testing.assert_array_equal(A.rewire(cut, seed=5, step=0, **ALONE).indices, C.indices)
    assert (C.indices[cut] != B.rewire(cut, seed=5, step=1, **ALONE).indices[cut]).mean() > 0.5
    one = A.with_data(2.0).prune(cut).rewire(cut, seed=5, step=0, **ALONE)
    np.testing.assert_array_equal(one.indices, C.indices)


def test_every_column_that_is_allowed_is_equally_likely():
    # Rows of 4 slots: one stays, at column 0, and three are filled, not with the row's own column.
    rows, columns = 6000, 6
    indices = np.full((rows, 4), columns, np.int32)
    indices[:, 0] = 0
    flags = np.arange(4) > 0
    A = ELL(1.0, indices, shape=(rows, columns))
    found = np.asarray(A.rewire(np.tile(flags, (rows, 1)), seed=3, step=0, **ALONE).indices)
    for slot in (1, 3):
        counts = np.bincount(found[columns:, slot], minlength=columns)
        assert counts[0] == 0
        np.testing.assert_allclose(counts[1:], (rows - columns) / 5, atol=5 * np.sqrt(rows / 5))
    assert (found[:, 1:, None] == found[:, None, 1:]).sum() == 3 * rows
    assert not (found[:columns] == np.arange(columns)[:, None])[1:].any()


def test_a_row_that_is_full_stays_so():
    full = np.arange(5, dtype=np.int32)
    A = ELL(1.0, np.append(full, [5, 5]).reshape(1, 7).astype(np.int32), shape=(1, 5))
    for backend in ("numba_cpu", "reference"):
        B = A.rewire(np.arange(7)[None] > 2, seed=0, step=0, allow_multapses=False, backend=backend)
        assert sorted(B.indices[0].tolist()) == [0, 1, 2, 3, 4, 5, 5]


def test_a_loop_changes_the_structure_in_place():
    A = csr()

    def step(A, t):
        return A.rewire(A.data < 0.7, seed=1, step=t, backend="numba_cpu", **ALONE), None

    compiled = jax.jit(lambda A: jax.lax.scan(step, A, jnp.arange(9))[0], donate_argnums=0).lower(A).compile()
    (body,) = [text for text in compiled.as_text().split("\n}\n") if " custom-call(" in text]
    assert " s32[180]{0} copy(" not in body


WRONG = {
    "flags": (lambda A: A.prune(W), TypeError, "pruned has dtype float32; expected bool"),
    "shape": (lambda A: A.prune(np.ones(3, bool)), ValueError, r"pruned has shape \(3,\); expected \(30"),
    "no seed": (lambda A: A.rewire(A.free, step=0), TypeError, "given no seed; expected seed and step"),
    "both": (lambda A: A.rewire(A.free, seed=1, targets=A.indices), TypeError, "targets and a seed"),
    "targets": (lambda A: A.rewire(A.free, targets=A.indices[0]), ValueError, r"targets has shape \(6,\)"),
    "weights": (lambda A: A.rewire(A.free, W[0], seed=1, step=0), ValueError, r"weights has shape \(6,\)"),
    "one weight": (
        lambda A: A.with_data(1.0).rewire(A.free, 2.0, seed=1, step=0), ValueError, "leave weights out",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name):
    call, error, match = WRONG[name]
    with pytest.raises(error, match=match):
        call(ell())


@pytest.mark.slow
def test_what_a_slot_draws_does_not_depend_on_the_threads_or_on_other_rows():
    rows, per_row = 9000, 8
    indices = RNG.integers(0, 500, (rows, per_row), dtype=np.int32)
    flags = RNG.random(indices.shape) < 0.3
    indptr = np.arange(rows + 1) * per_row
    whole = csr_rewire(indices.ravel(), indptr, flags.ravel(), 7, 3, shape=(rows, 500), **ALONE)
    few = csr_rewire(indices[:10].ravel(), indptr[:11], flags[:10].ravel(), 7, 3, shape=(10, 500), **ALONE)
    np.testing.assert_array_equal(whole[: 10 * per_row], few)
