"""Products of CSR matrices: how they fold, what they cost, and what their derivatives are made of."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from implemented import backends
from jax.test_util import check_grads

from event_ops import csr_event_matmat, csr_event_matvec, csr_matmat, csr_matvec, csr_sddmm
from event_ops.cases.draw import Draw
from event_ops.cases.matrices import numbers
from event_ops.kernels.reference.entries import inside, rows_of

SHAPE, NSE = (17, 23), 120


def matrix(dtype="float32"):
    return tuple(map(jnp.asarray, Draw(np.random.default_rng(3), dtype, "int32").csr(SHAPE, NSE)))


def dense(rows, n, dtype="float32"):
    return jnp.asarray(numbers(np.random.default_rng(4), (rows, n), dtype))


def primitives(function, *args):
    return [eqn.primitive.name for eqn in jax.make_jaxpr(function)(*args).eqns]


@backends("csr_matmat")
@pytest.mark.parametrize("transpose", [False, True])
def test_products_are_those_of_scipy(backend, transpose):
    data, indices, indptr = matrix()
    A = scipy.sparse.csr_matrix((data, indices, indptr), SHAPE)
    A = A.T if transpose else A
    options = {"shape": SHAPE, "transpose": transpose, "backend": backend}
    B = dense(A.shape[1], 6)
    active = B > 0.5
    for product, operand in (
        (csr_matmat, B),
        (csr_event_matmat, active),
        (csr_event_matmat, B * active.astype(B.dtype)),
    ):
        y = product(data, indices, indptr, operand, **options)
        np.testing.assert_allclose(y, A @ np.asarray(operand, "f"), rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@backends("csr_matmat")
@pytest.mark.parametrize("dtype", ["complex64", pytest.param("int32", marks=pytest.mark.slow), "int8"])
def test_other_dtypes(backend, dtype):
    if (backend, dtype) == ("warp", "complex64"):
        pytest.skip("Warp has no complex numbers")
    data, indices, indptr = matrix(dtype)
    x, y = dense(SHAPE[0], 3, dtype), dense(SHAPE[1], 3, dtype)
    A = scipy.sparse.csr_matrix((data, indices, indptr), SHAPE)
    options = {"shape": SHAPE, "backend": backend}
    product = csr_matmat(data, indices, indptr, y, **options)
    np.testing.assert_allclose(product, A @ np.asarray(y), rtol=1e-4, atol=1e-4)
    across = csr_matmat(data, indices, indptr, x, transpose=True, **options)
    np.testing.assert_allclose(across, A.T @ np.asarray(x), rtol=1e-4, atol=1e-4)
    sampled = csr_sddmm(indices, indptr, x, y, **options)
    rows = np.repeat(np.arange(SHAPE[0]), np.diff(indptr))
    np.testing.assert_allclose(sampled, (x[rows] * y[indices]).sum(1, dtype=dtype), rtol=1e-4, atol=1e-4)
    assert product.dtype == sampled.dtype == dtype


@pytest.mark.slow
@backends("csr_matmat")
@pytest.mark.parametrize("transpose", [False, True])
def test_complex_weights_have_a_gradient(backend, transpose):
    if backend == "warp":
        pytest.skip("Warp has no complex numbers")
    data, indices, indptr = matrix("complex64")
    v = dense(SHAPE[not transpose], 1, "complex64")[:, 0]
    options = {"shape": SHAPE, "transpose": transpose, "backend": backend}
    check_grads(
        lambda d, v: csr_matvec(d, indices, indptr, v, **options),
        (data, v), order=2, modes=("fwd", "rev"), atol=0.02, rtol=0.02,
    )  # fmt: skip


@backends("csr_matmat")
@pytest.mark.parametrize(
    ("product", "transpose", "axis"),
    [
        (csr_matvec, False, 0),
        (csr_matvec, True, 1),
        (csr_event_matvec, False, 1),
        (csr_event_matvec, True, 0),
    ],
)
def test_vmap_over_vectors_is_one_product_with_a_matrix(product, transpose, axis, backend):
    data, indices, indptr = matrix()
    v = jnp.maximum(dense(SHAPE[not transpose], 4), 0)
    v = v.T if axis == 0 else v
    options = {"shape": SHAPE, "transpose": transpose, "backend": backend}

    def batched(data, v):
        return jax.vmap(lambda x: product(data, indices, indptr, x, **options), axis)(v)

    expected = [product(data, indices, indptr, x, **options) for x in jnp.moveaxis(v, axis, 0)]
    np.testing.assert_allclose(batched(data, v), jnp.stack(expected), rtol=1e-5, atol=1e-5)
    folded = any("matmat" in name for name in primitives(batched, data, v))
    assert folded == (product is csr_matvec or not transpose)
    check_grads(batched, (data, v), order=1, modes=("fwd", "rev"), atol=0.02, rtol=0.02)


@pytest.mark.slow
@backends("csr_matmat")
def test_a_shared_matrix_has_one_weight_gradient_for_the_whole_batch(backend):
    data, indices, indptr = matrix()
    v = dense(8, SHAPE[1])

    def loss(data):
        y = jax.vmap(lambda x: csr_matvec(data, indices, indptr, x, shape=SHAPE, backend=backend))(v)
        return (y**2).sum()

    closed = jax.make_jaxpr(jax.grad(loss))(data)
    sizes = [out.aval.size for eqn in closed.eqns for out in eqn.outvars]
    assert max(sizes) < 8 * NSE


@backends("csr_event_matmat")
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("kind", ["bool", "float32"])
def test_inactive_events_hide_any_weight(backend, transpose, kind):
    # Few active in one row of events, most in the other: the kernel has a way for each.
    indices, indptr = np.array([0, 1]), np.array([0, 1, 2])
    events = np.zeros((2, 20), kind)
    events[0, 3] = events[1, :15] = 1
    Y = csr_event_matmat(
        np.float32(np.nan), indices, indptr, events, shape=(2, 2), transpose=transpose, backend=backend
    )
    np.testing.assert_array_equal(Y, np.where(events, np.float32(np.nan), np.float32(0)))


@backends("csr_sddmm")
@pytest.mark.parametrize("rank", [1, 2])
def test_inactive_events_hide_the_other_factor(backend, rank):
    indices, indptr = np.array([0, 1, 0, 1]), np.array([0, 2, 4])
    events, other = np.array([True, False]), np.array([2, np.nan], "f")
    if rank == 2:  # a second column, without an active event
        events, other = np.stack([events, [False] * 2], 1), np.stack([other, [np.nan] * 2], 1)
    options = {"shape": (2, 2), "backend": backend}
    np.testing.assert_array_equal(csr_sddmm(indices, indptr, events, other, **options), [2, np.nan, 0, 0])
    np.testing.assert_array_equal(csr_sddmm(indices, indptr, other, events, **options), [2, 0, np.nan, 0])


@backends("csr_sddmm")
def test_a_vector_is_a_matrix_of_one_column(backend):
    _, indices, indptr = matrix()
    x, y = dense(SHAPE[0], 1), dense(SHAPE[1], 1)
    results = [
        csr_sddmm(indices, indptr, a, b, shape=SHAPE, backend=backend)
        for a in (x, x[:, 0])
        for b in (y, y[:, 0])
    ]
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


@pytest.mark.parametrize(("size", "n"), [(8, 3), pytest.param(40_000, 70, marks=pytest.mark.slow)])
def test_a_broken_indptr_stays_inside_the_arrays(size, n):
    # Results are not defined; memory outside the arrays is neither read nor written, all of out is written.
    lowest, highest = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    indptr, indices = np.array([lowest, highest, -5, 3, highest], np.int32), np.full(size, 2, np.int32)
    ones, options = np.ones((4, n), "f"), {"shape": (4, 4), "backend": "numba_cpu"}
    for transpose in (False, True):
        for product, operand in ((csr_matmat, ones), (csr_event_matmat, ones > 0)):
            y = product(np.ones(size, "f"), indices, indptr, operand, transpose=transpose, **options)
            assert y.shape == (4, n)
            assert (np.abs(y) <= 4 * size).all()
    sampled = csr_sddmm(indices, indptr, ones, ones, **options)
    assert np.isin(sampled, [0, n]).all()


@pytest.mark.parametrize("shape", [(2, 3 * 10**9), (3 * 10**9, 2)], ids=["columns", "rows"])
@pytest.mark.parametrize("transpose", [False, True])
def test_rows_and_columns_beyond_32_bits_have_ids_that_are_wider_than_indices(shape, transpose):
    data, ids = jax.ShapeDtypeStruct((5,), "float32"), jax.ShapeDtypeStruct((9,), "int32")
    matrix = data, jax.ShapeDtypeStruct((5,), "int32"), jax.ShapeDtypeStruct((shape[0] + 1,), "int32")
    static = {"shape": shape, "transpose": transpose, "encoding": "ids", "backend": "reference"}
    with jax.enable_x64(True):
        lowered = jax.jit(lambda *args: csr_event_matvec(*args, **static)).lower(*matrix, ids)
        assert lowered.out_info.shape == (shape[transpose],)
        assert jax.eval_shape(lambda indptr: rows_of(indptr, 5), matrix[2]).dtype == (
            np.int64 if shape[0] > 2**31 else np.int32
        )
        np.testing.assert_array_equal(inside(jnp.array([-1, 5], jnp.int32), 3 * 10**9), [3 * 10**9, 5])


@pytest.mark.parametrize("product", [csr_event_matvec, csr_event_matmat])
def test_weights_by_a_permutation_in_a_product_on_all_threads(product):
    rng = np.random.default_rng(5)
    indices, indptr = rng.integers(0, 400, 40_000).astype(np.int32), np.arange(0, 40_100, 100, np.int32)
    weights, permutation = rng.random(40_000, np.float32), rng.permutation(40_000).astype(np.int32)
    events = rng.random((400, 8) if product is csr_event_matmat else 400) < 0.3
    given = {"permutation": permutation, "shape": (400, 400), "backend": "numba_cpu"}
    y = product(weights, indices, indptr, events, **given)
    expected = product(weights[permutation], indices, indptr, events, shape=(400, 400), backend="numba_cpu")
    np.testing.assert_allclose(y, expected, rtol=1e-5)
