"""`CSR` from and to other formats and files: every entry arrives."""

import gzip

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.io
import scipy.sparse
from jax.experimental import sparse
from real_matrices import REAL
from small_matrix import DENSE, small

import event_ops
from event_ops import CSR, ELL
from event_ops.network import Projection


@pytest.mark.parametrize("make", REAL)
@pytest.mark.parametrize("suffix", [".mtx", ".npz", ".MTX", ".Npz"])
def test_a_real_matrix_survives_a_file(make, suffix, tmp_path):
    S = make().tocsr().astype(np.float32)
    A = CSR.from_scipy(S)
    A.save(tmp_path / f"A{suffix}")
    again = CSR.load(tmp_path / f"A{suffix}")
    assert again.dtype == np.float32 and again.shape == S.shape
    assert (again.to_scipy() != S).nnz == 0


def test_files_of_others_are_read(tmp_path):
    S = scipy.sparse.coo_matrix(DENSE)
    scipy.io.mmwrite(tmp_path / "pattern.mtx", S, field="pattern")
    scipy.sparse.save_npz(tmp_path / "A.npz", S.tocsc())
    scipy.io.mmwrite(tmp_path / "dense.mtx", DENSE)
    np.testing.assert_array_equal(CSR.load(tmp_path / "pattern.mtx").todense(), DENSE > 0)
    np.testing.assert_array_equal(CSR.load(str(tmp_path / "A.npz")).todense(), DENSE)
    np.testing.assert_array_equal(CSR.load(tmp_path / "dense.mtx").todense(), DENSE)
    for name in ("dense.mtx.gz", "DENSE.MTX.GZ"):
        with gzip.open(tmp_path / name, "wb") as file:
            file.write((tmp_path / "dense.mtx").read_bytes())
        np.testing.assert_array_equal(CSR.load(tmp_path / name).todense(), DENSE)


def test_a_wrong_file_is_refused(tmp_path):
    for call in (CSR.load, small().save):
        with pytest.raises(ValueError, match=r"suffix '.csv'; expected one of .npz, .mtx"):
            call(tmp_path / "A.csv")
    with pytest.raises(FileNotFoundError):
        CSR.load(tmp_path / "none.npz")


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "lil", "dia"])
def test_every_format_of_scipy(format):
    S = scipy.sparse.coo_array(DENSE).asformat(format)
    np.testing.assert_array_equal(CSR.from_scipy(S).todense(), DENSE)


def test_scipy_keeps_order_and_duplicates():
    A = small(indices=np.array([2, 2, 0]))
    S = A.to_scipy()
    assert isinstance(S, scipy.sparse.csr_array)
    assert (S.indices.tolist(), S.data.tolist()) == ([2, 2, 0], [2, 1, 3])
    assert CSR.from_scipy(S).same_structure(A)
    np.testing.assert_array_equal(A.T.to_scipy().toarray(), A.todense().T)


def test_entries_that_no_row_spans_are_left_behind():
    A = small(indptr=np.array([1, 2, 2]), validate=False)
    assert A.to_scipy().data.tolist() == [1]
    np.testing.assert_array_equal(A.T.to_scipy().toarray(), A.todense().T)


def test_coordinates_in_any_order_keep_it_within_rows():
    row, col, data = np.array([1, 0, 1, 0]), np.array([2, 1, 2, 0]), np.array([1, 2, 4, 8], "f")

    def build(data):
        return CSR.from_coo(row, col, data, shape=(2, 3))

    for A in (build(data), jax.jit(build)(data)):
        assert (A.data.tolist(), A.indices.tolist()) == ([2, 8, 1, 4], [1, 0, 2, 2])
        assert A.indptr.tolist() == [0, 2, 4]
    assert build(2.0).data == 2
    assert CSR.from_coo([1, 0], [2, 1], [1.0, 2.0], shape=(2, 3)).data.tolist() == [2, 1]
    with pytest.raises(ValueError, match=r"row\[0\] is 2.*expected 0 to 1, for 2 rows"):
        CSR.from_coo(row=[2], col=[0], data=[1.0], shape=(2, 3))


def test_a_hundred_coordinates_have_pointers_of_32_bits():
    row, col = np.unravel_index(np.random.default_rng(0).permutation(100), (10, 10))
    with jax.enable_x64(True):
        A = CSR.from_coo(row.astype("i"), col.astype("i"), np.arange(100.0), shape=(10, 10))
        assert (A.indices.dtype, A.indptr.dtype) == (np.int32, np.int32)
        np.testing.assert_array_equal(A.todense()[row, col], np.arange(100))


def test_structures_of_uint64_are_sliced_padded_and_made_compact():
    with jax.enable_x64(True):
        A = CSR.from_dense(DENSE.astype("f"))
        A = CSR((A.data, A.indices, A.indptr.astype("uint64")), shape=A.shape)
        np.testing.assert_array_equal(A[1:].todense(), DENSE[1:])
        np.testing.assert_array_equal(ELL.from_csr(A, per_row=2).todense(), DENSE)
        np.testing.assert_allclose(A.compact(rtol=0.01).todense(), DENSE, rtol=0.01)
        assert Projection(A, "I", delay=np.arange(A.nse)).shape == A.shape


@pytest.mark.parametrize("nse", [None, 5])
def test_sparse_matrices_of_jax_with_padding(nse):
    for A in (
        CSR.from_bcoo(sparse.BCOO.fromdense(DENSE, nse=nse)),
        CSR.from_bcsr(sparse.BCSR.fromdense(DENSE, nse=nse)),
        jax.jit(CSR.from_bcoo)(sparse.BCOO.fromdense(DENSE, nse=nse)),
    ):
        np.testing.assert_array_equal(A.todense(), DENSE)
        np.testing.assert_array_equal(A.T.to_bcsr().todense(), DENSE.T)
        assert A.to_scipy().nnz == 3


@pytest.mark.parametrize("axes", [{"n_batch": 1}, {"n_dense": 1}, {}])
def test_other_axes_of_jax_are_refused(axes):
    cube, (name, count) = jnp.ones((2, 3, 4)), (*axes.items(), ("n_batch", 0))[0]
    with pytest.raises(ValueError, match=rf"shape \(2, 3, 4\) with .*{name}={count}"):
        CSR.from_bcoo(sparse.BCOO.fromdense(cube, **axes))
    if axes:
        with pytest.raises(ValueError, match=rf"shape \(2, 3, 4\) with .*{name}={count}"):
            CSR.from_bcsr(sparse.BCSR.fromdense(cube, **axes))


def test_dense_matrices():
    np.testing.assert_array_equal(CSR.from_dense(DENSE).data, [1, 2, 3])
    padded = jax.jit(lambda D: CSR.from_dense(D, nse=5))(DENSE)
    padded.check()
    assert padded.nse == 5
    assert CSR.from_dense(DENSE, nse=3).nse == 3
    np.testing.assert_array_equal(padded.todense(), DENSE)
    assert CSR.from_dense(np.zeros((0, 3), "f"), nse=4).nse == 0
    with pytest.raises(ValueError, match="nse is 2, and 3"):
        CSR.from_dense(DENSE, nse=2)
    with pytest.raises(ValueError, match=r"give the most of them: .*nse="):
        jax.jit(CSR.from_dense)(DENSE)
    short = jax.jit(lambda D: CSR.from_dense(D, nse=2))
    assert np.isnan(short(DENSE).data).all() and short(DENSE.astype(int)).data.tolist() == [1, 2]
    seen = pytest.raises((ValueError, jax.errors.JaxRuntimeError), match="number of entries is 3, ")
    with event_ops.validate(), seen:
        jax.block_until_ready(short(DENSE))


A = small()
PARTS = (A.data, A.indices, A.indptr)
COO = (A.data, ([0, 0, 1], A.indices))
GIVEN = {
    "arrays": lambda: PARTS,
    "a tuple of arrays": lambda: (PARTS,),
    "coordinates": lambda: (COO,),
    "SciPy": lambda: (scipy.sparse.csc_array(DENSE),),
    "SciPy's matrix": lambda: (scipy.sparse.coo_matrix(DENSE),),
    "a dense array": lambda: (DENSE,),
    "lists": lambda: (DENSE.tolist(),),
    "BCOO": lambda: (sparse.BCOO.fromdense(DENSE, nse=5),),
    "BCSR": lambda: (sparse.BCSR.fromdense(DENSE, nse=5),),
    "CSR": lambda: (A,),
    "transposed": lambda: (small().T.tocsr().T,),
}


@pytest.mark.parametrize("name", GIVEN)
def test_whatever_is_a_matrix_becomes_one(name):
    given = GIVEN[name]()
    B = CSR(*given, shape=DENSE.shape)
    np.testing.assert_array_equal(B.todense(), DENSE)
    assert B.nse == 3 and not B.transposed
    if name not in ("arrays", "a tuple of arrays", "coordinates"):
        assert CSR(*given).shape == DENSE.shape
        with pytest.raises(ValueError, match=r"shape is \(3, 2\), and the matrix has shape \(2, 3\)"):
            CSR(*given, shape=(3, 2))


def test_coordinates_as_scipy_has_them():
    B = CSR.from_coo(COO, shape=DENSE.shape)
    assert B.same_structure(CSR(COO, shape=DENSE.shape))
    np.testing.assert_array_equal(B.todense(), DENSE)


def test_matrices_are_built_under_jit():
    np.testing.assert_array_equal(jax.jit(lambda M: CSR(M))(GIVEN["BCSR"]()[0]).todense(), DENSE)
    np.testing.assert_array_equal(jax.jit(lambda M: CSR(M))(GIVEN["BCOO"]()[0]).todense(), DENSE)
    with pytest.raises(ValueError, match=r"give the most of them: CSR.from_dense\(matrix, nse=...\)"):
        jax.jit(CSR)(DENSE)


UNKNOWN = {
    "no shape": (lambda: CSR(PARTS), ValueError, "shape is None; expected two integers"),
    "no shape of coordinates": (lambda: CSR(COO), ValueError, "shape is None; expected two integers"),
    "two arrays": (lambda: CSR(A.data, A.indices, shape=(2, 3)), TypeError, "indptr is missing; .*shape="),
    "a size": (lambda: CSR((2, 3)), TypeError, r"a tuple of 2; expected \(data, indices, indptr\) or"),
    "no coordinates": (lambda: CSR.from_coo([0], [1], shape=(2, 3)), TypeError, r"or \(data, \(row, col\)\)"),
    "weights alone": (lambda: CSR(A.data), ValueError, "expected 2: rows and columns"),
    "bools": (lambda: CSR(DENSE > 0), TypeError, r"data has dtype bool; expected .*astype\('float32'\)"),
    "another format": (
        lambda: CSR(sparse.COO.fromdense(DENSE)),
        TypeError,
        r"got jax.*COO; expected BCSR, BCOO or a matrix of SciPy; use matrix.todense\(\)",
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_no_matrix_is_refused(name):
    call, error, match = UNKNOWN[name]
    with pytest.raises(error, match=match):
        call()


@pytest.fixture
def builders(tmp_path):
    """Ways to a matrix with an entry that is out of range."""
    S = scipy.sparse.csr_array(DENSE)
    S.indices[0] = 7
    scipy.sparse.save_npz(tmp_path / "broken.npz", S)
    two, shape = np.ones(2, "f"), {"shape": (2, 3)}
    bcsr = small(indices=np.array([2, 4, 0]), validate=False).to_bcsr()
    bcoo = sparse.BCOO((two, np.array([[0, -1], [0, 1]])), **shape)
    return {
        "row": lambda **options: CSR.from_coo([2, 0], [0, 1], two, **shape, **options),
        "tuple": lambda **options: CSR((two, ([2, 0], [0, 1])), **shape, **options),
        "col": lambda **options: CSR.from_coo([1, 0], [4, 1], two, **shape, **options),
        "scipy": lambda **options: CSR.from_scipy(S, **options),
        "file": lambda **options: CSR.load(tmp_path / "broken.npz", **options),
        "bcsr": lambda **options: CSR.from_bcsr(bcsr, **options),
        "bcoo": lambda **options: CSR.from_bcoo(bcoo, **options),
    }


@pytest.mark.parametrize("name", ["row", "tuple", "col", "scipy", "file", "bcsr", "bcoo"])
def test_what_is_out_of_range_is_kept_where_that_is_offered(name, builders, tmp_path):
    with pytest.raises(ValueError, match="keep it with validate=False"):
        builders[name]()
    A = builders[name](validate=False)
    assert np.count_nonzero(A.todense()) == A.nse - 1
    if name not in ("row", "tuple"):  # whose last entries no row spans, which others do without
        for call in (A.to_scipy, lambda: A.save(tmp_path / "A.npz")):
            with pytest.raises(ValueError, match=r"; correct it$"):
                call()


def test_what_is_not_sparse_is_refused():
    with pytest.raises(TypeError, match="got ndarray; see from_dense"):
        CSR.from_scipy(DENSE)
    with pytest.raises(TypeError, match="expected a 2-d SciPy sparse array"):
        CSR.from_scipy(scipy.sparse.coo_array(DENSE[0]))
