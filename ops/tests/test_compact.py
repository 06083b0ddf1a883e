"""`CompactCSR`: products of weights within the error that was allowed, which is kept or refused."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from jax.test_util import check_grads

import event_ops
import ffi_bridge
from event_ops import CSR, CompactCSR, Events, compact_matvec, spike_compact

ROWS, COLUMNS = 40, 70


def matrix(weights, dtype="f"):
    """A matrix whose rows have entries of these weights, drawn by `weights(rng, size)`."""
    rng = np.random.default_rng(0)
    S = scipy.sparse.random_array((ROWS, COLUMNS), density=0.2, rng=rng, format="csr")
    S.data = np.asarray(weights(rng, S.nnz), dtype)
    return CSR(S)


def normal(rng, size):
    return rng.normal(87.8, 8.78, size) * rng.choice([1, -4], size)


EXACT = {
    "whole numbers": lambda rng, n: rng.integers(-300, 300, n),
    "eighths": lambda rng, n: rng.integers(-300, 300, n) / 8,
    "of two kinds": lambda rng, n: rng.choice(np.array([0.1, -0.4], "f"), n),
    "one value": lambda rng, n: np.full(n, 0.7),
    "zeros": lambda rng, n: np.zeros(n),
}


@pytest.mark.parametrize("name", EXACT)
def test_weights_with_a_unit_are_kept_exactly(name):
    A = matrix(EXACT[name])
    B = A.compact()
    assert float(B.error) == 0 and B.scale.ndim == 0 and B.nse == A.nse
    np.testing.assert_array_equal(B.tocsr().data, A.data)
    np.testing.assert_array_equal(B.tocsr().indices, A.indices)
    assert B.entries.nbytes == (2 if name in ("one value", "zeros") else 4) * A.nse


@pytest.mark.slow
def test_rows_of_one_value_each_have_a_scale_each():
    values = np.random.default_rng(2).standard_normal(ROWS).astype("f")
    A = matrix(lambda rng, n: np.ones(n)) * values[:, None]
    B = A.compact()
    assert B.scale.shape == (ROWS,) and float(B.error) == 0
    np.testing.assert_array_equal(B.todense(), A.todense())


@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("bound", [{"rtol": 1e-3}, {"atol": 0.02}, {"rtol": 1e-4, "atol": 0.01}])
def test_each_weight_is_within_the_bound_and_the_largest_error_is_told(dtype, bound):
    with jax.enable_x64(dtype == "d"):
        A = matrix(normal, dtype)
        A = CSR(A.data, A.indices, A.indptr, shape=(ROWS, 100_000))
        B = A.compact(**bound)
        error = np.abs(np.asarray(B.tocsr().data, "d") - np.asarray(A.data, "d"))
        assert (error <= bound.get("atol", 0) + bound.get("rtol", 0) * np.abs(A.data)).all()
        largest = (error / np.abs(A.data)).max()
        assert largest > 0 and float(B.error) == pytest.approx(largest, rel=1e-5)
        assert B.dtype == A.dtype and B.code_bits == 15


def test_no_scale_is_so_small_that_it_is_taken_for_0():
    A = CSR(np.float32([1.2345e-33, 3.3e-34]), np.array([0, 1]), np.array([0, 2]), shape=(1, 2))
    np.testing.assert_allclose(A.compact(rtol=1e-3).todense(), A.todense(), rtol=1e-3)
    with pytest.raises(ValueError, match="expected an error of at most 0"):
        A.compact()


@pytest.mark.slow
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("by_row", [False, True])
def test_products_are_those_of_its_csr(transposed, by_row):
    A = matrix(normal).compact(rtol=1e-3)
    A = A.with_scale(A.scale * np.linspace(-1, 1, ROWS, dtype="f")) if by_row else A
    A = A.T if transposed else A
    D = np.asarray(A.todense())
    rng = np.random.default_rng(3)
    x, z = (rng.standard_normal(n).astype("f") for n in D.shape[::-1])
    near = {"rtol": 1e-5, "atol": 1e-3}
    X = rng.standard_normal((2, D.shape[1], 3)).astype("f")
    for M in (A, A.plan()):
        np.testing.assert_allclose(M @ x, D @ x, **near)
        np.testing.assert_allclose(z @ M, z @ D, **near)
        np.testing.assert_allclose(M @ X, D @ X, **near)
        np.testing.assert_allclose(jax.jit(lambda M, x: M @ x)(M, x), D @ x, **near)
        np.testing.assert_allclose(jax.vmap(M.matvec)(X[0].T), (D @ X[0]).T, **near)
        np.testing.assert_allclose(M @ Events(x > 0), D @ (x > 0), **near)
        np.testing.assert_allclose(Events(z > 0) @ M, (z > 0) @ D, **near)
        np.testing.assert_allclose(M @ Events(X > 0), D @ (X > 0), **near)
        np.testing.assert_allclose(M @ Events(spike_compact(x > 0)[0], "ids"), D @ (x > 0), **near)
        counts = rng.integers(0, 4, x.size).astype("u1")
        np.testing.assert_allclose(M @ Events(counts, "counts"), D @ counts, **near)
    assert A.plan().by_column.entries.nbytes == 4 * A.nse


def test_a_planned_product_reads_the_plan_alone():
    A = matrix(normal).compact(rtol=1e-3)
    x = np.arange(COLUMNS) % 3 == 0
    leaves, tree = jax.tree.flatten(A.plan())
    broken = jax.tree.unflatten(tree, [jnp.zeros_like(leaves[0]), *leaves[1:]])
    np.testing.assert_allclose(broken @ Events(x), A @ Events(x), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("planned", [False, True])
def test_gradients_by_scale_and_operands(planned):
    with jax.enable_x64(True), ffi_bridge.use_backend("reference"):
        A = matrix(lambda rng, n: rng.normal(1, 0.1, n), "d").compact(rtol=1e-3)
        A = A.plan() if planned else A
        scale = np.linspace(1, 2, ROWS)
        x = np.random.default_rng(4).standard_normal(COLUMNS)

        def loss(scale, x):
            B = A.with_scale(A.scale * scale)
            return jnp.sin(B @ x) + B @ Events(x) + (jnp.cos(B @ x) @ B)[:ROWS]

        check_grads(loss, (scale, x), order=2, modes=["rev"], atol=1e-3, rtol=1e-3)
        whole = jax.grad(lambda A: (A @ x).sum(), allow_int=True)(A)
        assert whole.scale.shape == () and whole.entries.dtype == jax.dtypes.float0


def test_words_with_columns_out_of_range_contribute_nothing():
    entries = np.array([1 << 2 | 0, 5 << 2 | 3, 2 << 2 | 2], np.uint32)
    A = CompactCSR(entries, np.array([0, 2, 3]), 0.5, shape=(2, 3))
    np.testing.assert_array_equal(A.todense(), [[0.5, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(A @ np.ones(3, "f"), [0.5, 1])
    np.testing.assert_array_equal(np.ones(2, "f") @ A, [0.5, 0, 1])
    with event_ops.validate(), pytest.raises(ValueError, match=r"entries\[1\] is 23, .* 0 to 2 in their low"):
        A @ np.ones(3, "f")


def test_a_bound_that_cannot_be_kept_is_refused_and_the_one_that_is_advised_is_kept():
    A = CSR(
        np.array([1.0, 3.1e-3, 0.31416], "f"), np.array([0, 99_999, 5]), np.array([0, 3]), shape=(1, 100_000)
    )
    for bound in ({}, {"rtol": 1e-6}):
        with pytest.raises(ValueError, match=r"codes of 15 bits, which 100000 columns leave, make") as error:
            A.compact(**bound)
        text = str(error.value)
        assert ("bits would do" in text) == bool(bound)
        rtol, atol = (float(re.search(rf"{name}=([^ ,]*)", text)[1]) for name in ("rtol", "atol"))
        for advised in ({"rtol": rtol}, {"atol": atol}):
            A.compact(**advised)
        with pytest.raises(ValueError, match="codes of 15 bits"):
            A.compact(rtol=rtol / 2)


@pytest.mark.parametrize("parts", [2, 3])
def test_words_in_equal_parts_are_the_whole(parts):
    A = matrix(normal).compact(rtol=1e-3)
    rows, columns = A.shape
    ids, width = np.asarray(A.tocsr().indices), -(-columns // parts)
    part = ids // width
    each_row = np.repeat(np.arange(rows), np.diff(A.indptr))
    order = np.argsort(part * rows + each_row, kind="stable")
    counts = np.bincount((part * rows + each_row), minlength=parts * rows)
    ends = np.append(0, np.cumsum(counts))
    indptr = np.stack([ends[k * rows :][: rows + 1] for k in range(parts)])
    words = (np.asarray(A.entries) - (part * width).astype(np.uint32))[order]
    B = CompactCSR(words, indptr, A.scale, A.error, shape=A.shape)
    rng = np.random.default_rng(3)
    x, z = rng.random(columns).astype("f"), rng.random(rows) < 0.5
    for M, expected in ((B, A), (B.with_scale(2 * A.scale), A.with_scale(2 * A.scale))):
        np.testing.assert_array_equal(M.todense(), expected.todense())
        np.testing.assert_allclose(M @ x, expected @ x, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(Events(z) @ M, Events(z) @ expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(M.T @ Events(z), expected.T @ Events(z), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(B.plan() @ Events(x > 0.5), A @ Events(x > 0.5), rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match=rf"indptr has shape \({parts}, .*\); expected \({rows + 1},\)"):
        compact_matvec(words, indptr, A.scale, x, shape=A.shape)


ONE = {"indices": np.array([0]), "indptr": np.array([0, 1]), "shape": (1, 3)}
REFUSED = {
    "integers": (lambda: CSR(np.ones(1, int), **ONE).compact(), TypeError, "data has dtype int32.*cast"),
    "NaN": (lambda: CSR(np.array([np.nan], "f"), **ONE).compact(), ValueError, r"data\[0\] is nan"),
    "a negative bound": (lambda: matrix(normal).compact(rtol=-1), ValueError, "rtol is -1; expected"),
    "traced": (lambda: jax.jit(lambda A: A.compact().scale)(matrix(normal)), ValueError, "outside of jit"),
    "columns": (
        lambda: CSR(np.ones(1, "f"), [7], [0, 1], shape=(1, 3), validate=False).compact(),
        ValueError,
        r"indices\[0\] is 7.*0 to 2",
    ),
    "a plan without room": (
        lambda: CompactCSR(np.array([5 << 1, 1], "u4"), [0, 2], 1.0, shape=(2**30, 2)).plan(),
        ValueError,
        "one more than the 1073741824 rows",
    ),
    "scales": (lambda: matrix(normal).compact(rtol=1e-3).with_scale(np.ones(3)), ValueError, "one per row"),
    "a factor": (
        lambda: matrix(normal).compact(rtol=1e-3) @ np.ones(3, "f"),
        ValueError,
        r"expected \(70,\)",
    ),
    "a matrix": (lambda: matrix(normal).compact(rtol=1e-3) @ matrix(normal), TypeError, "two sparse"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_do(name):
    call, error, match = REFUSED[name]
    with pytest.raises(error, match=match):
        call()


def test_a_plan_whose_codes_leave_no_room_is_refused():
    rows = 2**20
    indptr = np.append(np.zeros(rows, int), 1)
    A = CSR(np.array([4097.0], "f"), [1], indptr, shape=(rows, 2)).compact(rtol=1e-6)
    A.plan()
    B = CompactCSR(np.array([5000 << 1 | 1], "u4"), indptr, 1.0, shape=(rows, 2))
    with pytest.raises(ValueError, match=r"the codes take 14 bits, and 12 are left .* A\.T\.tocsr"):
        B.plan()


def test_text_leaves_and_the_operator():
    A = matrix(normal).compact(rtol=1e-3)
    assert re.fullmatch(
        r"CompactCSR\(40 x 70, 560 entries \(0.2 of all\), float32, codes of 25 bits, one scale, error "
        r"[\d.e-]+\)",
        repr(A),
    )
    assert repr(A.T.plan()).endswith(", transposed, planned)")
    assert "a scale per row" in repr(A.with_scale(np.ones(ROWS, "f")))
    assert "error not known" in repr(jax.tree.map(lambda x: jnp.stack([x, x]), A))
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(A)]
    assert paths == [".entries", ".indptr", ".scale", ".error"]
    x = np.ones(COLUMNS, "f")
    parts = A.entries, A.indptr, A.scale
    np.testing.assert_array_equal(A.matvec(x), compact_matvec(*parts, x, shape=A.shape))
    np.testing.assert_array_equal(A.rmatvec(np.ones(ROWS, "f")), np.ones(ROWS, "f") @ A)


def test_exported_programs_take_it():
    pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers to serialise")
    A = matrix(normal).compact(rtol=1e-3).plan()
    x = np.arange(COLUMNS) % 3 == 0
    program = jax.jit(lambda A, x: A @ Events(x))
    blob = ffi_bridge.export.export(program)(A, x).serialize()
    np.testing.assert_array_equal(ffi_bridge.export.deserialize(blob).call(A, x), program(A, x))
