"""Weights of 16 bits: products without a copy in 32 bits, gradients, and matrices that hold them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

import event_ops as eo
from event_ops import CSR, ELL, Events
from ffi_bridge import export

HALVES = [pytest.param(jnp.float16, marks=pytest.mark.slow), jnp.bfloat16]
ROWS, COLUMNS, PER_ROW = 12, 9, 5
RNG = np.random.default_rng(3)
INDICES = RNG.integers(0, COLUMNS, (ROWS, PER_ROW)).astype(np.int32)
ENDS = np.arange(ROWS + 1, dtype=np.int32) * PER_ROW
WEIGHTS = RNG.standard_normal((ROWS, PER_ROW)).astype(np.float32)
V, U = (RNG.standard_normal(n).astype(np.float32) for n in (COLUMNS, ROWS))
SHAPE = {"shape": (ROWS, COLUMNS)}

each = pytest.mark.parametrize("half", HALVES)


def csr(data):
    return data.reshape(-1), INDICES.reshape(-1), ENDS


PRODUCTS = {
    "csr_matvec": (lambda w, x: eo.csr_matvec(*csr(w), x, **SHAPE), V),
    "csr_matmat": (
        lambda w, x: eo.csr_matmat(*csr(w), x, transpose=True, **SHAPE),
        np.stack([U, -U], 1),
    ),
    "csr_event_matvec": (lambda w, x: eo.csr_event_matvec(*csr(w), x, transpose=True, **SHAPE), U),
    "bools": (lambda w, x: eo.csr_event_matvec(*csr(w), x, **SHAPE), V > 0),
    "ids": (lambda w, x: eo.csr_event_matvec(*csr(w), x, encoding="ids", **SHAPE), np.int32([3, 3, 1, 99])),
    "csr_event_matmat": (
        lambda w, x: eo.csr_event_matmat(*csr(w), x, **SHAPE),
        np.stack([V, 0 * V, -V], 1),
    ),
    "ell_matvec": (lambda w, x: eo.ell_matvec(w, INDICES, x, **SHAPE), V),
    "ell_event_matvec": (lambda w, x: eo.ell_event_matvec(w, INDICES, x, transpose=True, **SHAPE), U),
    "dense_event_matvec": (lambda w, x: eo.dense_event_matvec(w, x, transpose=True), U),
    "dense_event_matmat": (
        lambda w, x: eo.dense_event_matmat(w, x),
        np.stack([V[:PER_ROW], -U[:PER_ROW]], 1),
    ),
    "one weight": (lambda w, x: eo.csr_matvec(w[0, 0], INDICES.reshape(-1), ENDS, x, **SHAPE), V),
    "one weight, events": (lambda w, x: eo.ell_event_matvec(w[0, 0], INDICES, x, **SHAPE), V > 0),
    "csr_event_deliver": (
        lambda w, x: eo.csr_event_deliver(
            np.ones((2, COLUMNS), np.float32), *csr(w), INDICES.reshape(-1) % 2, x, np.int32(1), **SHAPE
        ),
        U,
    ),
    "csr_event_arrivals": (
        lambda w, x: eo.csr_event_arrivals(x, *csr(w), np.int32(1), shape=(ROWS // 3, COLUMNS)),
        U.reshape(3, -1),
    ),
    "recent ids": (
        lambda w, x: eo.csr_event_arrivals(x, *csr(w), 1, shape=(ROWS // 3, COLUMNS), encoding="ids"),
        np.int32([[1, 99], [2, 2], [3, 99]]),
    ),
}
products = pytest.mark.parametrize("name", PRODUCTS)
few = pytest.mark.slow_cases(
    "dense_event_matmat",
    "dense_event_matvec",
    "csr_event_deliver",
    "csr_event_matmat",
    "csr_matmat",
    "csr_event_arrivals",
)


@few
@each
@products
def test_values_and_gradients_are_those_of_float32_rounded_once(name, half):
    product, x = PRODUCTS[name]
    w = jnp.asarray(WEIGHTS, half)

    def loss(w):
        y = product(w, x)
        assert y.dtype == jnp.float32
        return jnp.sum(jnp.sin(y + 1))  # columns that are each other's negative do not cancel

    def once_rounded(w):
        return jax.value_and_grad(loss)(w.astype(jnp.float32))

    value, slope = jax.jit(jax.value_and_grad(loss))(w)
    expected, wide = once_rounded(w)
    np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)
    assert slope.dtype == half
    ulp = 2 * float(jnp.finfo(half).eps)
    np.testing.assert_allclose(slope.astype("f"), wide, rtol=ulp, atol=ulp * float(abs(wide).max()) / 100)


@few
@products
def test_batches_of_weights_and_tangents(name):
    product, x = PRODUCTS[name]
    w = jnp.asarray(WEIGHTS, jnp.bfloat16)
    y, dy = jax.vmap(lambda w: jax.jvp(lambda w: product(w, x), (w,), (w,)))(jnp.stack([w, -w]))
    wide = w.astype(jnp.float32)
    expected = jax.jvp(lambda w: product(w, x), (-wide,), (-wide,))
    np.testing.assert_allclose(y[1], expected[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(dy[1], expected[1], rtol=1e-5, atol=1e-5)


def is_copied_in_32_bits(name, half):
    product, x = PRODUCTS[name]
    program = jax.jit(product).lower(jnp.asarray(WEIGHTS, half), x).as_text()
    return any(f"tensor<{shape}xf32>" in program for shape in (WEIGHTS.size, f"{ROWS}x{PER_ROW}"))


@each
@products
def test_no_copy_of_the_weights_in_32_bits(name, half):
    assert not is_copied_in_32_bits(name, half)


@few
@products
def test_no_copy_of_the_weights_in_32_bits_on_a_gpu(name, on_gpu, monkeypatch):
    for operator in ("csr_matvec", "csr_matmat", "ell_matvec", *(x for x in vars(eo) if "_event_" in x)):
        on_cuda = functools.partial(getattr(eo, operator), backend="numba_cuda")
        monkeypatch.setattr(eo, operator, on_cuda)
    assert not is_copied_in_32_bits(name, jnp.bfloat16)


@each
def test_subnormal_infinite_and_missing_numbers_come_through(half):
    smallest = float(jnp.finfo(half).smallest_subnormal)
    w = jnp.asarray([smallest, np.inf, np.nan, 1, 2], half)
    columns, ends = np.int32([0, 1, 2, 3, 9]), np.arange(6, dtype=np.int32)
    y = eo.csr_matvec(w, columns, ends, np.ones(4, "f"), shape=(5, 4))
    # XLA and its kernels may take a bfloat16 that float32 counts as subnormal for 0.
    assert y[0] == smallest if half == jnp.float16 else y[0] in (0, smallest)
    np.testing.assert_array_equal(y[1:], [np.inf, np.nan, 1, 0])


@each
def test_operands_of_16_bits_are_refused_with_the_cast(half):
    with pytest.raises(TypeError, match=r"v has dtype .*float16; expected float32.*v\.astype\('float32'\)"):
        eo.csr_matvec(*csr(WEIGHTS.astype(half)), V.astype(half), **SHAPE)
    with pytest.raises(TypeError, match=r"buffer has dtype int32; expected float32 or float64"):
        eo.csr_event_deliver(
            np.ones((2, COLUMNS), np.int32), *csr(WEIGHTS.astype(half)), 1, U > 0, np.int32(1), **SHAPE
        )


def matrix(kind, half):
    data = jnp.asarray(WEIGHTS, half)
    return CSR(*csr(data), **SHAPE) if kind is CSR else ELL(data, INDICES, **SHAPE)


kinds = pytest.mark.parametrize("kind", [CSR, ELL])


@pytest.mark.slow_cases("CSR", "ELL")
@each
@kinds
def test_products_of_matrices_promote_as_in_jax_and_sum_in_float32(kind, half):
    A = matrix(kind, half)
    wide = A.astype(jnp.float32)
    with jax.numpy_dtype_promotion("standard"):
        for x in (V, V.astype(half), np.int32([1] * COLUMNS), np.stack([V, V], 1)):
            y = A @ x
            assert y.dtype == jnp.result_type(A.data, x)
            np.testing.assert_array_equal(y, (wide @ x.astype("f")).astype(y.dtype))
        assert (A @ jnp.asarray(V, "complex64")).dtype == "complex64"
    y = A @ Events(V > 0)
    assert y.dtype == jnp.float32
    np.testing.assert_allclose(y, wide @ Events(V > 0), rtol=1e-6)
    np.testing.assert_allclose(Events(U) @ A, Events(U) @ wide, rtol=1e-5, atol=1e-6)


@pytest.mark.slow_cases("CSR")
@each
@kinds
def test_plans_stay_in_16_bits_and_give_the_same(kind, half):
    A = matrix(kind, half).plan()
    assert A.by_column.weights.dtype == half
    for events in (V > 0, V):
        np.testing.assert_allclose(
            A @ Events(events), A.astype(jnp.float32) @ Events(events), rtol=1e-5, atol=1e-6
        )
    slope = jax.grad(lambda w: jnp.sum((A.with_data(w) @ Events(V)) ** 2))(A.data)
    assert slope.dtype == half


@each
@kinds
def test_conversions_keep_them_or_widen(kind, half):
    A = matrix(kind, half)
    assert A.todense().dtype == half
    np.testing.assert_allclose(
        A.todense().astype("f"), A.astype("f").todense(), rtol=float(jnp.finfo(half).eps), atol=1e-6
    )
    assert A.to_bcsr().data.dtype == half
    assert A.to_scipy().dtype == np.float32
    np.testing.assert_allclose(A.to_scipy().toarray(), A.astype("f").todense(), rtol=1e-6)
    assert str(np.dtype(half)) in repr(A)
    B = CSR.from_dense(A.todense())
    np.testing.assert_array_equal(B.todense(), A.todense())


@each
def test_products_of_two_matrices_sum_in_float32(half):
    A = matrix(CSR, half)
    C = A @ A.T
    assert C.dtype == half
    wide = A.astype("f")
    eps = float(jnp.finfo(half).eps)
    np.testing.assert_allclose(C.todense().astype("f"), (wide @ wide.T).todense(), rtol=2 * eps, atol=eps)


@each
def test_programs_that_take_them_are_exported(half):
    pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers to serialise")
    A = matrix(CSR, half)
    exported = export.export(jax.jit(lambda A, v: A @ Events(v)))(A, V)
    again = export.deserialize(exported.serialize())
    np.testing.assert_array_equal(again.call(A, V), A @ Events(V))


@each
def test_shards_hold_them(half):
    A = matrix(CSR, half)
    B = eo.shard_csr(A, Mesh(jax.devices()[:1], ("x",)), "x")
    assert B.data.dtype == half
    with jax.numpy_dtype_promotion("standard"):
        np.testing.assert_allclose((B @ V).reshape(-1)[:ROWS], A @ V, rtol=1e-6)
