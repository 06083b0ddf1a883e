"""What a `CSR` tells of its elements, and matrices made of some of its rows: beside NumPy, also under jit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_matrix import small

import event_ops
import ffi_bridge
from event_ops import CSR, Events

SHAPE = (6, 5)


@pytest.fixture(autouse=True)
def _reference():
    """A backend is chosen after all of this, and the reference has nothing to compile."""
    with ffi_bridge.use_backend("reference"):
        yield


def scattered(**changes):
    """Duplicates, unsorted, an empty row; whole numbers, so that sums are exact."""
    rng = np.random.default_rng(3)
    row = np.sort(rng.choice([0, 1, 3, 4, 5], 14))
    parts = {
        "data": rng.integers(-4, 5, 14).astype("f"),
        "indices": rng.integers(0, SHAPE[1], 14),
        "indptr": np.searchsorted(row, np.arange(SHAPE[0] + 1)),
        "shape": SHAPE,
    }
    return CSR(**(parts | changes))


def astray():
    """Columns out of range, and an indptr that spans some of the entries only; those left out are NaN."""
    A = scattered()
    indices = np.where(np.arange(14) % 5 == 2, [-1, 5] * 7, A.indices)
    indptr = np.clip(A.indptr, 2, 11)
    lost = (indices < 0) | (indices >= 5) | (np.arange(14) < 2) | (np.arange(14) >= 11)
    data = np.where(lost, np.nan, A.data).astype("f")
    return CSR(data, indices, indptr, shape=SHAPE, validate=False)


MATRICES = {
    "scattered": scattered,
    "astray": astray,
    "one weight": lambda: scattered(data=2.0),
    "no entries": lambda: CSR(np.zeros(0, "f"), np.zeros(0, int), np.zeros(7, int), shape=SHAPE),
    "no rows": lambda: CSR(np.zeros(0, "f"), np.zeros(0, int), [0], shape=(0, 5)),
    "no columns": lambda: CSR(np.zeros(0, "f"), np.zeros(0, int), np.zeros(7, int), shape=(6, 0)),
}


@pytest.fixture(params=MATRICES)
def A(request):
    return MATRICES[request.param]()


def both(A):
    """The matrix and its transpose, each beside the dense one."""
    D = np.asarray(A.todense())
    return (A, D), (A.T, D.T)


def test_lengths_of_rows():
    A = scattered()
    np.testing.assert_array_equal(A.row_lengths, np.diff(A.indptr))
    np.testing.assert_array_equal(A.T.row_lengths, np.bincount(A.indices, minlength=5))
    assert astray().row_lengths.sum() == 9
    wild = CSR(A.data, A.indices, [0, 9, 3, 99, 14, 14, -1], shape=SHAPE, validate=False)
    np.testing.assert_array_equal(jax.jit(lambda A: A.row_lengths)(wild), [9, 0, 11, 0, 0, 0])


@pytest.mark.slow_cases("one weight", "no entries", "no columns", "scattered")
def test_diagonals(A):
    for M, D in both(A):
        for k in range(-6, 7):
            expected = np.diagonal(D, k) if -D.shape[0] < k < D.shape[1] else []
            np.testing.assert_array_equal(M.diagonal(k), expected)
        np.testing.assert_array_equal(jax.jit(CSR.diagonal)(M), np.diagonal(D))


@pytest.mark.parametrize("axis", [None, 0, 1, -1, -2])
def test_sums(A, axis):
    for M, D in both(A):
        np.testing.assert_array_equal(M.sum(axis), D.sum(axis))
        np.testing.assert_array_equal(jax.jit(lambda M: M.sum(axis=axis))(M), D.sum(axis))


def test_sums_of_small_integers_do_not_wrap_around():
    A = small(data=np.array([100, 100, 100], np.int8))
    assert A.sum() == 300 and A.sum(1).dtype == "int32"
    assert A.sum(0, "float32").dtype == "float32"
    with pytest.raises(ValueError, match=r"axis is 2; expected None, 0 .* or 1"):
        A.sum(2)
    with pytest.raises(TypeError, match="nothing is written in place"):
        np.sum(A, out=np.zeros((), "i4"))


def test_coordinates_are_the_way_back(A):
    for M, D in both(A):
        data, (row, col) = M.to_coo()
        assert data.shape == row.shape == col.shape
        np.testing.assert_array_equal(CSR(M.to_coo(), shape=M.shape, validate=False).todense(), D)
        again = jax.jit(lambda M: CSR(M.to_coo(), shape=M.shape, validate=False).todense())
        np.testing.assert_array_equal(again(M), D)


@pytest.mark.parametrize("k", [-4, -1, 0, 2, 9])
def test_eye(k):
    A = CSR.eye(3, 5, k=k)
    np.testing.assert_array_equal(A.todense(), np.eye(3, 5, k))
    A.check()
    np.testing.assert_array_equal(CSR.eye(3, dtype=int).todense(), np.eye(3, dtype=int))
    assert CSR.eye(3, dtype=int).dtype == "int32"
    with pytest.raises(ValueError, match="sizes >= 0"):
        CSR.eye(-1)
    for call in (A.diagonal, lambda k: CSR.eye(3, k=k)):
        with pytest.raises(TypeError, match=r"k is 0\.5; expected an integer"):
            call(0.5)


@pytest.mark.parametrize("x", [2, np.float32(-1), np.arange(5, dtype="f")])
def test_adding_to_the_diagonal(A, x):
    for M, D in both(A):
        added = np.broadcast_to(np.float32(x), (5,))[: min(D.shape)]
        expected = D.copy()
        np.fill_diagonal(expected, np.diagonal(D) + added)
        np.testing.assert_array_equal(M.add_diagonal(added if np.ndim(x) else x).todense(), expected)
        traced = jax.jit(lambda M, x: M.add_diagonal(x))(M, added)
        np.testing.assert_array_equal(traced.todense(), expected)


def test_a_diagonal_that_is_stored_keeps_structure_and_plan():
    A = scattered().add_diagonal(0).plan()
    B = A.add_diagonal(np.arange(5, dtype="f"))
    assert B.indices is A.indices
    np.testing.assert_array_equal(B @ Events(np.ones(5, bool)), B.todense().sum(1))
    for kind, expected in ((int, "float32"), (jnp.bfloat16, "bfloat16")):  # no fraction is lost
        with jax.numpy_dtype_promotion("standard"):
            C = CSR.eye(2, dtype=kind).add_diagonal(0.5)
        assert C.dtype == expected and C.diagonal().tolist() == [1.5, 1.5]
    slope = jax.grad(lambda x: (A.add_diagonal(x).data ** 2).sum())(jnp.ones(5))
    np.testing.assert_array_equal(slope.shape, (5,))
    inside = jax.jit(lambda x: A.add_diagonal(x).data)(np.ones(5, "f"))
    assert inside.shape == A.data.shape
    with pytest.raises(ValueError, match=r"x has shape \(4,\); expected \(\) or \(5,\)"):
        A.add_diagonal(np.ones(4, "f"))


KEYS = (
    slice(None),
    slice(1, 4),
    slice(None, None, -2),
    slice(9, 3),
    [0, -1, 3, 3],
    [],
    np.array([True, False, True, False, False]),
)


@pytest.mark.slow_cases("slice(None, None, None)", "slice(None, None, -2)", "slice(1, 4, None)")
@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_rows_and_columns_are_those_of_numpy(key):
    A = CSR(np.asarray(scattered().todense())[:5])
    for M, D in ((A, np.asarray(A.todense())), (A.T, np.asarray(A.T.todense()))):
        chosen = key if isinstance(key, slice) or len(key) else np.zeros(0, int)
        np.testing.assert_array_equal(M[key].todense(), D[chosen])
        np.testing.assert_array_equal(M[:, key].todense(), D[:, chosen])
        np.testing.assert_array_equal(M[1:, key].todense(), D[1:][:, chosen])
        M[key].check()


@pytest.mark.slow_cases("False")
@pytest.mark.parametrize("planned", [False, True])
def test_rows_by_traced_ids(planned):
    A = astray().plan() if planned else astray()
    D, ids = np.asarray(A.todense()), np.array([3, 6, 0, 3, -1])  # two do not exist
    expected = np.where([[True], [False], [True], [True], [False]], D[[3, 0, 0, 3, 0]], 0)
    np.testing.assert_array_equal(A.rows(ids).todense(), expected)

    @jax.jit
    def product(A, ids, v):
        return A.rows(ids, nse=12) @ v

    v = np.array([np.inf, 1, 2, 3, 4], "f")  # room that is left over meets no infinity
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(product(A, ids, v), A.rows(ids) @ v)
    np.testing.assert_array_equal(product(A.T, ids[:0], np.ones(6, "f")), [])
    slope = jax.grad(lambda w: A.with_data(w).rows(ids, nse=12).data[:9].sum())(A.data)
    np.testing.assert_array_equal(slope, jax.grad(lambda w: A.with_data(w).rows(ids).data.sum())(A.data))


@pytest.mark.slow
def test_too_little_room_is_seen():
    A, ids = scattered(), np.array([0, 0, 0, 5])
    need = int(A.row_lengths[ids].sum())
    with pytest.raises(ValueError, match=rf"A.rows: nse is {need - 1}, and there are {need} entries"):
        A.rows(ids, nse=need - 1)
    short = jax.jit(lambda A, ids: A.rows(ids, nse=need - 1))
    assert np.isnan(short(A, ids).data).all()
    assert short(A, ids).indptr[-1] == need
    assert short(A.astype(int), ids).dtype == "int32"
    with event_ops.validate():
        with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match=rf"number of entries is {need}, "):
            jax.block_until_ready(short(A, ids))
        jax.jit(lambda A, ids: A.rows(ids, nse=need))(A, ids)


def test_lengths_that_no_integer_can_count_are_too_many():
    A = small(indptr=np.array([0, 3, 3]))
    assert np.isnan(jax.jit(lambda A, ids: A.rows(ids, nse=4).data)(A, np.zeros(1 << 20, int))).all()
    large = CSR(1.0, np.zeros(1 << 20, int), [0, 1 << 20], shape=(1, 1))
    result = jax.jit(lambda A, ids: A.rows(ids, nse=4))(large, np.zeros(1 << 12, int))
    assert np.isnan(result.data)  # 2**32 entries


WRONG = {
    "one row": (lambda A: A[1], TypeError, r"0 dimensions.*A\[\[i\]\] is row i"),
    "iteration": (list, TypeError, r"0 dimensions.*A\[\[i\]\] is row i"),
    "a grid": (lambda A: A[[[1]]], TypeError, "2 dimensions"),
    "two lists": (lambda A: A[[1], [2]], IndexError, r"A\[rows\]\[:, columns\]"),
    "three axes": (lambda A: A[:, :, :], IndexError, "a matrix has rows and columns"),
    "too large": (lambda A: A[[0, 2]], IndexError, "index 2 is out of range; expected -2 to 1"),
    "too small": (lambda A: A[:, [-4]], IndexError, "index -4 is out of range; expected -3 to 2"),
    "floats": (lambda A: A[[1.0]], IndexError, "dtype float64; expected integers or bools"),
    "short mask": (lambda A: A[[True]], IndexError, "1 elements; expected 2"),
    "traced ids": (jax.jit(lambda A: A[A.indices]), ValueError, r"A.rows\(ids, nse=...\)"),
    "traced structure": (jax.jit(lambda A: A[1:]), ValueError, r"A.rows\(ids, nse=...\)"),
    "mask as ids": (lambda A: A.rows(np.array([True, False])), TypeError, r"A\[mask\]"),
    "a factor out of range": (lambda A: 300 * A.astype("uint8"), ValueError, "got 300, which uint8 cannot"),
    "equality": (lambda A: A == A, TypeError, r"this CSR is the same object; use A.tocsr\(\).allclose"),
    "equality of events": (lambda A: Events(A.data) == 1, TypeError, "this Events is the same object"),
    "inequality": (lambda A: A != 0, TypeError, "this CSR is the same object"),
    "random, undecided": (
        lambda A: CSR.random((2, 2), key=jax.random.key(0)),
        TypeError,
        "density=None and per_row=None; expected one",
    ),
    "random, too dense": (
        lambda A: CSR.random((2, 2), key=jax.random.key(0), density=1.1),
        ValueError,
        "density is 1.1",
    ),
    "random, too long": (
        lambda A: CSR.random((2, 2), key=jax.random.key(0), per_row=3),
        ValueError,
        "per_row is 3; expected 0 to 2",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_say_what_to_do(name):
    call, error, match = WRONG[name]
    with pytest.raises(error, match=match):
        call(small())


def test_a_matrix_is_a_key():
    A = small()
    assert {A: 1}[A] == 1 and hash(A) == hash(A)


@pytest.mark.slow_cases("{'per_row': 2}", "{'density': 0.02}", "{'per_row': 9}")
@pytest.mark.parametrize(
    "how", [{"per_row": 2}, {"per_row": 9}, {"density": 0.02}, {"density": 0.6}], ids=str
)
def test_random_places_differ_and_are_sorted(how):
    shape = (40, 30)
    A = jax.jit(lambda key: CSR.random(shape, key=key, **how))(jax.random.key(1))
    A.check()
    _, (row, col) = A.to_coo()
    places = np.asarray(row) * 30 + np.asarray(col)
    assert A.nse == 40 * how["per_row"] if "per_row" in how else round(1200 * how["density"])
    assert (np.diff(places) > 0).all()
    if "per_row" in how:
        np.testing.assert_array_equal(A.row_lengths, how["per_row"])
    assert 0 <= A.data.min() < 0.5 < A.data.max() < 1
    B = CSR.random(shape, key=jax.random.key(2), dtype="float32", sampler=jax.random.normal, **how)
    assert B.dtype == "float32" and B.data.min() < 0 and not np.array_equal(A.indices, B.indices)


@pytest.mark.slow
def test_random_places_are_uniform():  # chi-square
    rows = 6000
    for per_row_of in (  # drawn again, and shuffled
        lambda key: CSR.random((rows, 48), key=key, per_row=2).indices.reshape(-1, 2),
        lambda key: CSR.random((rows, 6), key=key, per_row=2).indices.reshape(-1, 2),
        lambda key: jax.vmap(lambda k: CSR.random((6, 8), key=k, density=2 / 48).to_coo()[1][0])(
            jax.random.split(key, rows)
        ),
    ):
        pairs = np.asarray(per_row_of(jax.random.key(5)))
        size = 48 if pairs.max() > 5 else 6
        counts = np.bincount(pairs.reshape(-1), minlength=size)
        mean = 2 * rows / size
        assert ((counts - mean) ** 2 / mean).sum() < size + 6 * np.sqrt(2 * size)
