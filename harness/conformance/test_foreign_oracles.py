"""Others say what is right: SciPy for CSR matrices, JAX's own sparse for transforms, NumPy for scatter."""

import hypothesis.extra.numpy as hnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from implemented import backends
from jax.experimental import sparse

import event_ops as eo
from event_ops.cases.draw import Draw
from event_ops_harness.conformance.compare import assert_same

# Few shapes, and one number of stored entries: each other one would be compiled.
SHAPES = ((0, 3), (4, 0), (1, 9), (12, 7))
STORED = 90
WIDTH = 2
SMALL = st.integers(-3, 3)


@st.composite
def matrices(draw):
    """Draw a matrix of small integers, so that any order of sums is exact, and whether to transpose it."""
    shape = draw(st.sampled_from(SHAPES))
    dense = draw(hnp.arrays(np.int64, shape, elements=st.sampled_from([0, 0, 0, 1, -2, 5])))
    return scipy.sparse.csr_matrix(dense.astype(np.float32)), draw(st.booleans())


@st.composite
def operands(draw, size, *trailing):
    return draw(hnp.arrays(np.int64, (size, *trailing), elements=SMALL)).astype(np.float32)


def stored(A):
    """Return data, indices, indptr with unused places behind the entries."""
    unused = STORED - A.nnz
    return np.pad(A.data, (0, unused)), np.pad(A.indices, (0, unused)), A.indptr


@pytest.mark.slow_cases("warp")
@backends("csr_matvec")
@settings(max_examples=40)
@given(matrices(), st.data())
def test_products_with_vectors_are_those_of_scipy(backend, matrix, data):
    A, transpose = matrix
    B = A.T if transpose else A
    v = data.draw(operands(B.shape[1]))
    options = {"shape": A.shape, "transpose": transpose, "backend": backend}
    np.testing.assert_array_equal(eo.csr_matvec(*stored(A), v, **options), B @ v)
    np.testing.assert_array_equal(eo.csr_event_matvec(*stored(A), v, **options), B @ v)
    hits = B @ (v > 0).astype(np.float32)
    np.testing.assert_array_equal(eo.csr_event_matvec(*stored(A), v > 0, **options), hits)


@pytest.mark.slow_cases("warp", "numba_cpu")
@backends("csr_matmat")
@settings(max_examples=20)
@given(matrices(), st.data())
def test_products_with_matrices_are_those_of_scipy(backend, matrix, data):
    A, transpose = matrix
    B = A.T if transpose else A
    X = data.draw(operands(B.shape[1], WIDTH))
    options = {"shape": A.shape, "transpose": transpose, "backend": backend}
    np.testing.assert_array_equal(eo.csr_matmat(*stored(A), X, **options), B @ X)
    np.testing.assert_array_equal(eo.csr_event_matmat(*stored(A), X, **options), B @ X)


@pytest.mark.slow_cases("warp")
@backends("csr_sddmm")
@settings(max_examples=20)
@given(matrices(), st.data())
def test_sampled_products_are_those_of_scipy(backend, matrix, data):
    A, _ = matrix
    X, Y = data.draw(operands(A.shape[0], WIDTH)), data.draw(operands(A.shape[1], WIDTH))
    _, indices, indptr = stored(A)
    sampled = eo.csr_sddmm(indices, indptr, X, Y, shape=A.shape, backend=backend)[: A.nnz]
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    np.testing.assert_array_equal(sampled, (X @ Y.T)[rows, A.indices])


@pytest.mark.slow_cases("warp")
@backends("csr_scale_rows")
@settings(max_examples=20)
@given(matrices(), st.data())
def test_scaled_rows_are_those_of_scipy(backend, matrix, data):
    A, _ = matrix
    x = data.draw(operands(A.shape[0]))
    weights, _, indptr = stored(A)
    scaled = eo.csr_scale_rows(weights, indptr, x, backend=backend)[: A.nnz]
    result = scipy.sparse.csr_matrix((scaled, A.indices, A.indptr), A.shape)
    np.testing.assert_array_equal(result.toarray(), (scipy.sparse.diags_array(x) @ A).toarray())


@pytest.mark.slow_cases("warp", "numba_cpu")
@backends("csr_todense")
@settings(max_examples=20)
@given(matrices())
def test_other_forms_are_those_of_scipy(backend, matrix):
    A, _ = matrix
    np.testing.assert_array_equal(eo.csr_todense(*stored(A), shape=A.shape, backend=backend), A.toarray())
    _, indices, indptr = stored(A)
    rows, starts, permutation = eo.csr_tocsc(indices, indptr, shape=A.shape, backend=backend)
    by_column = A.tocsc()
    np.testing.assert_array_equal(starts, by_column.indptr)
    np.testing.assert_array_equal(rows[: A.nnz], by_column.indices)
    np.testing.assert_array_equal(A.data[np.asarray(permutation)[: A.nnz]], by_column.data)


@pytest.mark.slow_cases("warp")
@backends("scatter_add")
@settings(max_examples=30)
@given(hnp.arrays(np.int32, 17, elements=st.integers(-12, 12)), hnp.arrays(np.int32, 17, elements=SMALL))
def test_sums_are_those_of_numpy(backend, indices, updates):
    size = 9
    inside = (indices >= -size) & (indices < size)
    expected = np.ones(size, np.int32)
    np.add.at(expected, indices[inside], updates[inside])
    result = eo.scatter_add(np.ones(size, np.int32), indices, updates, backend=backend)
    np.testing.assert_array_equal(result, expected)
    counted = np.zeros(size, np.int32)
    positive = inside & (indices >= 0)
    np.add.at(counted, indices[positive], updates[positive])
    np.testing.assert_array_equal(eo.segment_sum(updates, indices, size, backend=backend), counted)


@pytest.mark.slow_cases("numba_cpu", "warp")
@backends("csr_matvec")
@pytest.mark.parametrize("transpose", [False, True])
def test_transforms_are_those_of_jax_sparse(backend, transpose):
    shape = (17, 23)
    with jax.enable_x64(True):
        rng = np.random.default_rng(5)
        data, indices, indptr = map(jnp.asarray, Draw(rng, "float64", "int32").csr(shape, 120))
        size = shape[0] if transpose else shape[1]
        vectors = jnp.asarray(rng.normal(size=(3, size)))
        rows = jnp.asarray(np.repeat(np.arange(shape[0], dtype=np.int32), np.diff(indptr)))
        coordinates = jnp.stack([rows, indices], axis=1)

        def ours(data, v):
            options = {"shape": shape, "transpose": transpose, "backend": backend}
            return jnp.sin(eo.csr_matvec(data, indices, indptr, v, **options)).sum()

        def theirs(data, v):
            A = sparse.BCOO((data, coordinates), shape=shape)
            return jnp.sin((A.T if transpose else A) @ v).sum()

        for transform in (
            lambda f: jax.value_and_grad(f, (0, 1))(data, vectors[0]),
            lambda f: jax.jvp(f, (data, vectors[0]), (data[::-1], vectors[1])),
            lambda f: jax.vmap(jax.grad(f, (0, 1)), (None, 0))(data, vectors),
            lambda f: jax.jvp(jax.grad(f, (0, 1)), (data, vectors[0]), (data[::-1], vectors[1])),
        ):
            assert_same(jax.jit(transform, static_argnums=0)(ours), transform(theirs), 1e-12)


def test_shapes_beyond_32_bits_are_traced():
    """No size is cut down on the way: more than 2**31 entries, rows and columns, without their memory."""
    entries, rows, columns = 3_000_000_000, 5_000_000_000, 4_000_000_000
    with jax.enable_x64(True):
        data = jax.ShapeDtypeStruct((entries,), jnp.float32)
        indices = jax.ShapeDtypeStruct((entries,), jnp.int64)
        indptr = jax.ShapeDtypeStruct((rows + 1,), jnp.int64)
        v = jax.ShapeDtypeStruct((columns,), jnp.float32)
        spikes = jax.ShapeDtypeStruct((rows,), bool)

        def traced(indices, indptr, data, v, spikes):
            product = lambda data, v: eo.csr_matvec(data, indices, indptr, v, shape=(rows, columns)).sum()  # noqa: E731
            y = eo.csr_event_matvec(data, indices, indptr, spikes, shape=(rows, columns), transpose=True)
            turned = eo.csr_tocsc(indices, indptr, shape=(rows, columns))
            return jax.grad(product, (0, 1))(data, v), y, turned

        (by_data, by_v), y, (at, starts, permutation) = jax.eval_shape(
            traced, indices, indptr, data, v, spikes
        )
    assert by_data.shape == at.shape == permutation.shape == (entries,)
    assert by_v.shape == y.shape == (columns,)
    assert starts.shape == (columns + 1,)
    assert permutation.dtype == jnp.int64
