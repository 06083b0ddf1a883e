"""Attributes of entries: whatever makes a matrix or changes its order tells where each entry comes from."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from jax.experimental import sparse
from jax.sharding import Mesh

from event_ops import CSR, ELL, csr_event_deliver, shard_csr

ROWS, COLUMNS, COUNT = 7, 5, 24
RNG = np.random.default_rng(4)
# No place twice, so that a place tells which entry it is of; in no order.
PLACES = RNG.permutation(ROWS * COLUMNS)[:COUNT]
ROW, COL = (x.astype(np.int32) for x in np.divmod(PLACES, COLUMNS))
WEIGHTS = RNG.random(COUNT).astype("f") + 1
DELAY = 1 + PLACES  # of the synapse from row to column: known by its place
D = np.zeros((ROWS, COLUMNS), "f")
D[ROW, COL] = WEIGHTS


def matrix():
    """Entries unsorted within rows, two of them free slots, three more that no row holds."""
    A = CSR.from_coo(ROW, COL, WEIGHTS, shape=(ROWS, COLUMNS))
    data, indices = (jnp.concatenate([x[:1], x, x[:2]]) for x in (A.data, A.indices))
    cut = np.isin(np.arange(COUNT + 3), [4, 9])
    return CSR(data, indices, A.indptr + 1, shape=A.shape, validate=False).prune(cut)


def delays_of(A):
    """Return the delays of the entries of a matrix, in its order; of those that are no synapse 0."""
    row, col = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    each = A.with_data(np.zeros(A.data.shape, np.int32))
    for r, c in zip(row, col, strict=True):
        hit = _at(A, r, c)
        each = each.with_data(jnp.where(hit, 1 + r * COLUMNS + c, each.data))
    return each.data


def _at(A, r, c):
    """Return which entries are at a place, as a loop over the rows finds them."""
    hit = np.zeros(A.indices.shape, bool)
    if isinstance(A, ELL):
        stored = (c, r) if A.transposed else (r, c)
        hit[stored[0]] = np.asarray(A.indices)[stored[0]] == stored[1]
        return hit
    stored = (c, r) if A.transposed else (r, c)
    span = slice(int(A.indptr[stored[0]]), int(A.indptr[stored[0] + 1]))
    hit[span] = np.asarray(A.indices)[span] == stored[1]
    return hit


def followed(A, given, order, ids=None):
    """Hold the attributes that `order` takes from those given against the places of the entries of A.

    Of ids, row r of A is row ids[r] of the given one.
    """
    flat = np.append(np.ravel(given), 0)
    found = flat[np.minimum(np.asarray(order), flat.size - 1)]
    for r in range(A.shape[0]):
        for c in range(A.shape[1]):
            of_row = r if ids is None else ids[r]
            hit = _at(A, r, c)
            assert (found[hit] == 1 + of_row * COLUMNS + c).all(), (r, c)


def bcoo(nse=None):
    places = np.stack([ROW, COL], axis=1)
    padding = np.tile([[ROWS, COLUMNS]], (2, 1))
    places = np.concatenate([places[:3], padding, places[3:]]) if nse else places
    data = np.insert(WEIGHTS, 3, [9, 9]) if nse else WEIGHTS
    return sparse.BCOO((jnp.asarray(data), jnp.asarray(places)), shape=(ROWS, COLUMNS))


S = scipy.sparse.coo_array((WEIGHTS, (ROW, COL)), shape=(ROWS, COLUMNS))
CSC = scipy.sparse.csc_array(S)
CSC_DELAY = 1 + CSC.indices * COLUMNS + np.repeat(np.arange(COLUMNS), np.diff(CSC.indptr))
SCIPY_CSR = scipy.sparse.csr_array(S)
CSR_DELAY = 1 + np.repeat(np.arange(ROWS), np.diff(SCIPY_CSR.indptr)) * COLUMNS + SCIPY_CSR.indices
MADE = {
    "from_coo": (lambda: CSR.from_coo(ROW, COL, WEIGHTS, shape=D.shape, return_order=True), DELAY),
    "from_coo, as SciPy": (
        lambda: CSR.from_coo((WEIGHTS, (ROW, COL)), shape=D.shape, return_order=True),
        DELAY,
    ),
    "from_coo, one weight": (lambda: CSR.from_coo(ROW, COL, 2.0, shape=D.shape, return_order=True), DELAY),
    "from_coo, jit": (
        lambda: jax.jit(lambda r: CSR.from_coo(r, COL, WEIGHTS, shape=D.shape, return_order=True))(ROW),
        DELAY,
    ),
    "from_bcoo": (lambda: CSR.from_bcoo(bcoo(), return_order=True), DELAY),
    "from_bcoo, padded": (
        lambda: CSR.from_bcoo(bcoo(nse=26), return_order=True),
        np.insert(DELAY, 3, [-7, -7]),
    ),
    "from_bcsr": (lambda: CSR.from_bcsr(matrix().to_bcsr(), return_order=True), None),
    "from_scipy, coo": (lambda: CSR.from_scipy(S, return_order=True), DELAY),
    "from_scipy, csc": (lambda: CSR.from_scipy(CSC, return_order=True), CSC_DELAY),
    "from_scipy, csr": (lambda: CSR.from_scipy(SCIPY_CSR, return_order=True), CSR_DELAY),
}


@pytest.mark.parametrize("name", MADE)
def test_a_constructor_tells_the_order(name):
    make, given = MADE[name]
    A, order = make()
    if given is None:
        given = delays_of(CSR(matrix()))
    assert order.shape == (A.nse,) and order.dtype == np.int32
    followed(A, given, order)
    assert int((np.asarray(given)[order] > 0).sum()) == A.nse


FORMS = {
    "csr": matrix,
    "transposed": lambda: matrix().T.tocsr().T,
    "planned": lambda: matrix().plan(),
    "one weight": lambda: matrix().with_data(2.0),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_change_of_the_order_is_told(form):
    A = FORMS[form]()
    given = delays_of(A.with_data(A.repeated_data()))
    for B, order in (A.tocsr(return_order=True), A.T.tocsr(return_order=True)):
        followed(B if B.shape == D.shape else B.T, given, order)
    (data, (row, col)), order = A.to_coo(return_order=True)
    np.testing.assert_array_equal(np.asarray(given)[order], 1 + row * COLUMNS + col)
    np.testing.assert_array_equal(data, A.repeated_data()[order])
    assert data.size == COUNT - 2
    E, order = ELL.from_csr(A, per_row=COLUMNS, return_order=True)
    assert order.shape == E.indices.shape and (np.asarray(order)[E.free] == A.nse).all()
    followed(E, given, order)
    of_ell = delays_of(E.with_data(E.repeated_data()))
    for M, order in (E.tocsr(return_order=True), E.T.tocsr(return_order=True)):
        followed(M if M.shape == D.shape else M.T, of_ell, order)


@pytest.mark.parametrize("form", FORMS)
def test_rows_tell_the_order(form):
    A = FORMS[form]()
    given = delays_of(A.with_data(A.repeated_data()))
    ids = np.array([3, 0, 3, 6, 1], np.int32)
    B, order = A.rows(ids, return_order=True)
    followed(B, given, order, ids)
    B, order = jax.jit(lambda A, ids: A.rows(ids, nse=40, return_order=True))(A, ids)
    followed(B, given, order, ids)
    assert (order[int(B.indptr[-1]) :] == A.nse).all()
    T, order = A.T.rows(np.arange(COLUMNS), return_order=True)
    followed(T.T, given, order)


@pytest.mark.parametrize("form", ["csr", "transposed", "one weight"])
def test_shards_tell_the_order(form):
    A, mesh = FORMS[form](), Mesh(np.array(jax.devices()[:1]), ("x",))
    B, order = shard_csr(A, mesh, "x", return_order=True)
    assert order.shape == B.indices.shape
    given = np.append(delays_of(A.with_data(A.repeated_data())), 0)[np.minimum(order, A.nse)]
    local = CSR(1.0, B.indices[0], B.indptr[0], shape=A.stored_shape, validate=False)
    followed(local.T if A.transposed else local, given[0], np.arange(given.shape[1]))


def test_duplicates_keep_their_attributes():
    row, col, weights = np.array([1, 0, 1, 1]), np.array([2, 0, 2, 1]), np.arange(4.0)
    A, order = CSR.from_coo(row, col, weights, shape=(2, 3), return_order=True)
    assert (order.tolist(), A.data.tolist()) == ([1, 0, 2, 3], [1, 0, 2, 3])
    S = scipy.sparse.coo_array((weights, (row, col)), shape=(2, 3))
    with pytest.raises(ValueError, match=r"1 of 4 entries are duplicates.*CSR\.from_coo"):
        CSR.from_scipy(S, return_order=True)
    with pytest.raises(TypeError, match="format 'dia' with return_order=True"):
        CSR.from_scipy(S.todia(), return_order=True)
    with pytest.raises(TypeError, match="A is a CompactCSR"):
        shard_csr(A.compact(), Mesh(np.array(jax.devices()[:1]), ("x",)), "x", return_order=True)


@pytest.mark.parametrize("size", [0, 2, 4])
def test_weights_of_another_number_than_coordinates_are_refused(size):
    # A gather would drop those that are too many, and repeat the last one where there are too few.
    row, weights = np.arange(3), np.ones(size, "f")
    match = (
        rf"data has shape \({size},\); expected \(3,\): one weight per entry" if size else "data has shape"
    )
    for make in (
        lambda: CSR.from_coo(row, row, weights, shape=(3, 3)),
        lambda: CSR((weights, (row, row)), shape=(3, 3)),
        lambda: jax.jit(lambda w: CSR.from_coo(row, row, w, shape=(3, 3)))(weights),
    ):
        with pytest.raises(ValueError, match=match):
            make()


def test_a_dense_matrix_has_its_attributes_at_the_same_places():
    A = CSR.from_dense(D)
    np.testing.assert_array_equal(np.arange(D.size).reshape(D.shape)[A.to_coo()[1]] + 1, delays_of(A))


def test_delays_in_another_order_arrive_where_they_belong():
    A, order = CSR.from_coo(ROW, COL, WEIGHTS, shape=D.shape, return_order=True)
    spikes, buffer = np.ones(ROWS, bool), np.zeros((1 + DELAY.max(), COLUMNS), "f")
    parts = buffer, A.data, A.indices, A.indptr
    arrived = csr_event_deliver(*parts, DELAY[order], spikes, 0, shape=A.shape)
    expected = np.zeros_like(buffer)
    np.add.at(expected, (DELAY, COL), WEIGHTS)
    np.testing.assert_array_equal(arrived, expected)
    with pytest.raises(ValueError, match=r"delays has shape \(23,\).*one per entry"):
        csr_event_deliver(*parts, DELAY[1:], spikes, 0, shape=A.shape)


# What becomes of the order in all that makes a matrix. A method that is added has to be put here.
KEEPS = {"T", "with_data", "astype", "plan", "prune", "rewire", "normalize", "on_pre", "on_post"}
KEEPS |= {"stdp_on_pre", "stdp_on_post", "check", "load", "save"}
TELLS = {"from_coo", "from_scipy", "from_bcoo", "from_bcsr", "tocsr", "to_coo", "rows", "from_csr"}
NEW_ENTRIES = {
    "from_dense",
    "random",
    "eye",
    "matmul",
    "multiply",
    "add_diagonal",
    "compact",
    "to_bcsr",
    "to_scipy",
}
NO_MATRIX = {"allclose", "diagonal", "dot", "dtype", "free", "matvec", "ndim", "nnz", "nse", "repeated_data"}
NO_MATRIX |= {"rmatvec", "row_lengths", "same_structure", "shape", "solve", "sum", "toarray", "todense"}


@pytest.mark.parametrize("kind", [CSR, ELL])
def test_every_method_says_the_order_or_keeps_it(kind):
    public = {name for name in dir(kind) if not name.startswith("_")}
    public -= {"data", "indices", "indptr", "by_column", "stored_shape", "transposed"}
    known = KEEPS | TELLS | NEW_ENTRIES | NO_MATRIX
    assert public <= known, f"say what becomes of the order in {public - known}"
    for name in public & TELLS:
        assert "return_order" in inspect.signature(getattr(kind, name)).parameters
    for name in public & (KEEPS | NEW_ENTRIES):
        assert callable(getattr(kind, name)) is (name != "T")


def test_what_keeps_the_order_keeps_every_entry_in_its_place():
    A = matrix()
    same = [
        A.T.T,
        A.with_data(A.data * 2),
        A.astype(np.float16),
        A.plan(),
        2 * A,
        A / D.max(),
        -A,
        abs(A),
        A * np.ones(D.shape, "f"),
        A.normalize(1.0, axis=1),
        A.plan(weights=False).on_pre(lambda w, *, x_post: w + x_post, np.ones(ROWS, bool), x_post=D[0]),
        A.prune(np.zeros(A.nse, bool)),
    ]
    assert all(A.same_structure(B) for B in same)
