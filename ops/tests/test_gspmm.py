"""Messages along edges: every storage, reduction and backend beside a loop in NumPy; derivatives; errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

from event_ops import CSR, ELL, gsddmm, gspmm, shard_csr
from event_ops.messages.passes import kernel

ROWS, COLUMNS = 7, 9
REDUCTIONS = ("sum", "mean", "max", "min", "mul")
BACKENDS = ("reference", "numba_cpu", "warp", "numba_cuda")
STORAGES = ("csr", "planned", "transposed", "ell", "compact", "dense")
backends = pytest.mark.parametrize("backend", BACKENDS)
reductions = pytest.mark.parametrize("reduce", REDUCTIONS)


@pytest.fixture(autouse=True)
def _gpu(request):
    if "numba_cuda" in request.node.name:
        request.getfixturevalue("on_gpu")


def message(weight, x_src, x_dst, *, bias):
    return weight * jnp.where(x_src > x_dst, x_src - x_dst, 0.1 * x_dst) + bias


def matrix(storage, dtype=np.float32):
    """Return a matrix, its weights as a dense array, and which elements are edges."""
    rng = np.random.default_rng(0)
    there = rng.random((ROWS, COLUMNS)) < 0.6
    there[2] = False  # a row without edges
    W = np.where(there, rng.integers(-3, 4, (ROWS, COLUMNS)) / 2, 0).astype(dtype)
    row, col = np.nonzero(there)
    A = CSR.from_coo(row, col, W[row, col], shape=W.shape)
    if storage == "ell":
        return ELL.from_csr(A, per_row=COLUMNS), W, there
    if storage == "compact":
        there = there & (W != 0)
        row, col = np.nonzero(there)
        return CSR.from_coo(row, col, W[row, col], shape=W.shape).compact(), W, there
    if storage == "dense":
        return jnp.asarray(W), W, np.ones_like(there)
    if storage == "transposed":
        row, col = np.nonzero(there.T)
        return CSR.from_coo(row, col, W.T[row, col], shape=W.T.shape).T, W, there
    return A.plan() if storage == "planned" else A, W, there


def features(*width, dtype=np.float32):
    rng = np.random.default_rng(1)
    return (rng.integers(-4, 5, (n, *width)).astype(dtype) / 4 for n in (COLUMNS, ROWS))


def oracle(W, there, x_src, x_dst, reduce, bias=0.25):
    """Return the reduction of each row, by loops."""
    y = np.zeros((ROWS, *x_src.shape[1:]))
    for i in range(ROWS):
        each = [
            W[i, j] * np.where(x_src[j] > x_dst[i], x_src[j] - x_dst[i], 0.1 * x_dst[i]) + bias
            for j in np.flatnonzero(there[i])
        ]
        empty = 1.0 if reduce == "mul" else 0.0
        name = {"mul": "prod"}.get(reduce, reduce)
        y[i] = getattr(np, name)(each, axis=0) if each else empty
    return y


@pytest.mark.parametrize("width", [(), (5,)])
@reductions
@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage_and_reduction(storage, reduce, width):
    A, W, there = matrix(storage)
    x_src, x_dst = features(*width)
    for backend in ("reference", "numba_cpu"):
        y = gspmm(message, A, x_src=x_src, x_dst=x_dst, bias=0.25, reduce=reduce, backend=backend)
        np.testing.assert_allclose(y, oracle(W, there, x_src, x_dst, reduce), rtol=1e-5, atol=1e-6)


@pytest.mark.slow_cases("warp", "numba_cuda")
@reductions
@backends
def test_every_backend_and_reduction_with_derivatives(backend, reduce):
    A, W, there = matrix("csr")
    x_src, x_dst = map(jnp.asarray, features(3))
    ct = jnp.asarray(np.random.default_rng(2).normal(size=(ROWS, 3)), jnp.float32)

    def loss(w, x_src, x_dst, bias, backend=backend):
        A_w = A.with_data(w)
        y = gspmm(message, A_w, x_src=x_src, x_dst=x_dst, bias=bias, reduce=reduce, backend=backend)
        return (y * ct).sum(), y

    args = A.data, x_src, x_dst, jnp.float32(0.25)
    found, y = jax.grad(loss, (0, 1, 2, 3), has_aux=True)(*args)
    np.testing.assert_allclose(y, oracle(W, there, x_src, x_dst, reduce), rtol=1e-5, atol=1e-6)
    expected = jax.grad(in_jax, (0, 1, 2, 3))(*args, A, reduce, ct)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def in_jax(w, x_src, x_dst, bias, A, reduce, ct):
    """Return the loss with arrays of edges, whose derivatives JAX takes."""
    rows = np.repeat(np.arange(ROWS), np.diff(A.indptr))
    by_edge = [w[:, None], x_src[A.indices], x_dst[rows]]
    each = message(*(jnp.broadcast_to(x, (A.nse, 3)) for x in by_edge), bias=bias)
    if reduce == "mul":  # jax.ops.segment_prod has no derivative
        y = jnp.stack([jnp.prod(each[np.flatnonzero(rows == i)], 0) for i in range(ROWS)])
        return (y * ct).sum()
    y = getattr(jax.ops, f"segment_{reduce if reduce != 'mean' else 'sum'}")(each, rows, ROWS)
    y = y / np.maximum(np.bincount(rows, minlength=ROWS), 1).astype("f")[:, None] if reduce == "mean" else y
    return (jnp.where(jnp.isfinite(y), y, 0) * ct).sum()


@pytest.mark.parametrize("storage", ["csr", "planned", "transposed", "ell", "dense"])
@pytest.mark.parametrize("backend", ["reference", "numba_cpu"])
def test_edges_keep_their_order(backend, storage):
    A, _, there = matrix(storage)
    x_src, x_dst = features(4)
    z = gsddmm(lambda x_src, x_dst: x_src * x_dst, A, x_src=x_src, x_dst=x_dst, reduce="sum", backend=backend)
    whole = gsddmm(lambda x_src, x_dst: x_src * x_dst, A, x_src=x_src, x_dst=x_dst, backend=backend)
    np.testing.assert_allclose(whole.sum(-1), z, rtol=1e-5, atol=1e-6)
    dots = np.where(there, x_dst @ x_src.T, 0)
    dense = z if storage == "dense" else A.with_data(z).todense()
    np.testing.assert_allclose(dense, dots, rtol=1e-5, atol=1e-6)


@backends
@pytest.mark.slow_cases("warp", "numba_cuda")
def test_features_of_several_axes_broadcast(backend):
    A, _, _ = matrix("planned")
    rng = np.random.default_rng(3)
    x, scores = rng.normal(size=(COLUMNS, 2, 3)), rng.normal(size=(A.nse, 2, 1))
    x, scores = jnp.asarray(x, "f"), jnp.asarray(scores, "f")

    def loss(scores, x, backend):
        y = gspmm(lambda score, x_src: score * x_src, A, score=scores, x_src=x, backend=backend)
        return (y**2).sum(), y

    found, y = jax.grad(loss, (0, 1), has_aux=True)(scores, x, backend)
    assert y.shape == (ROWS, 2, 3)
    by_head = [A.with_data(scores[:, h, 0]).todense() @ x[:, h] for h in range(2)]
    np.testing.assert_allclose(y, jnp.stack(by_head, 1), rtol=1e-5, atol=1e-5)
    expected, _ = jax.grad(loss, (0, 1), has_aux=True)(scores, x, "reference")
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reduce", ["sum", "max"])
@pytest.mark.parametrize("storage", ["csr", "transposed"])
def test_transforms(storage, reduce):
    A, _, _ = matrix(storage)
    x_src, x_dst = map(jnp.asarray, features(3))
    batch = jnp.stack([x_src, 2 * x_src + 1])

    def f(x, x_dst):
        return gspmm(message, A, x_src=x, x_dst=x_dst, bias=0.25, reduce=reduce)

    each = jnp.stack([f(x, x_dst) for x in batch])
    np.testing.assert_allclose(jax.vmap(f, (0, None))(batch, x_dst), each, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jax.jit(f)(x_src, x_dst), each[0], rtol=1e-5, atol=1e-6)
    grads = jax.jit(jax.vmap(jax.grad(lambda x: (f(x, x_dst) ** 2).sum())))(batch)
    one = jnp.stack([jax.grad(lambda x: (f(x, x_dst) ** 2).sum())(x) for x in batch])
    np.testing.assert_allclose(grads, one, rtol=1e-4, atol=1e-4)
    _, forward = jax.jvp(lambda x: f(x, x_dst), (x_src,), (x_src,))
    back = jax.vjp(lambda x: f(x, x_dst), x_src)[1](jnp.ones_like(forward))[0]
    np.testing.assert_allclose((back * x_src).sum(), forward.sum(), rtol=1e-4, atol=1e-4)


def test_no_array_of_edges_times_features_is_made():
    """Kernels are shared with the test of derivatives."""
    A, _, _ = matrix("csr")
    x_src, x_dst = map(jnp.asarray, features(3))

    def loss(w, x_src, x_dst, bias):
        return gspmm(message, A.with_data(w), x_src=x_src, x_dst=x_dst, bias=bias, reduce="min").sum()

    args = A.data, x_src, x_dst, jnp.float32(0.25)
    text = jax.jit(jax.grad(loss, (0, 1, 2, 3))).lower(*args).compile().as_text()
    assert f"[{A.nse},3]" not in text and f"[{A.nse * 3}]" not in text


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_floats_of_16_bits_are_summed_in_float32(dtype):
    A = CSR.from_dense(jnp.ones((1, 4096), dtype))
    y = gspmm(lambda weight, x_src: weight * x_src, A, x_src=jnp.ones(4096, dtype))
    assert y.dtype == dtype and y[0] == 4096


def test_float64():
    with jax.enable_x64(True):
        A, W, there = matrix("csr", np.float64)
        x_src, x_dst = features(2, dtype=np.float64)
        y = gspmm(message, A, x_src=x_src, x_dst=x_dst, bias=0.25)
        assert y.dtype == "float64"
        np.testing.assert_allclose(y, oracle(W, there, x_src, x_dst, "sum"), rtol=1e-12)


def test_a_number_has_the_dtype_of_arrays_and_without_any_that_of_numpy():
    A, *_ = matrix("csr")
    with jax.enable_x64(True):
        for c, dtype in [(2.0, "float64"), (np.float32(2), "float32"), (np.float16(2), "float16")]:
            of = lambda f, **variables: jax.eval_shape(lambda: gspmm(f, A, **variables)).dtype  # noqa: E731
            assert of(lambda c: c, c=c) == dtype
            assert of(lambda c, x_src: c * x_src, c=c, x_src=jnp.ones(COLUMNS, "float32")) == "float32"
            assert of(lambda c, flag: jnp.where(~flag, c, 0), c=c, flag=np.bool_(True)) == dtype


def test_a_sharded_matrix_gives_blocks():
    A, W, there = matrix("csr")
    x_src, x_dst = features(3)
    S = shard_csr(A, Mesh(np.array(jax.devices()[:1]), "x"), "x")
    run = jax.jit(lambda x, z: gspmm(message, S, x_src=x, x_dst=z, bias=0.25))
    found = S.gather(run(jnp.asarray(x_src), S.scatter(x_dst)))
    np.testing.assert_allclose(found, oracle(W, there, x_src, x_dst, "sum"), rtol=1e-5, atol=1e-6)
    with jax.enable_x64(True):  # numbers take the dtype of arrays here, too
        assert gspmm(lambda c, weight: c * weight, S, c=2).dtype == "float32"
    grad = jax.grad(lambda x: (run(x, S.scatter(x_dst)) ** 2).sum())(jnp.asarray(x_src))
    of_whole = lambda x: (gspmm(message, A, x_src=x, x_dst=x_dst, bias=0.25) ** 2).sum()  # noqa: E731
    whole = jax.grad(of_whole)(jnp.asarray(x_src))
    np.testing.assert_allclose(grad, whole, rtol=1e-4, atol=1e-5)


def test_entries_that_are_out_of_range_send_nothing():
    A = CSR(np.float32([1, 2, 4]), np.int32([0, 7, 1]), np.int32([0, 2, 3]), shape=(2, 2), validate=False)
    for backend in ("reference", "numba_cpu"):
        y = gspmm(lambda weight, x_src: weight * x_src, A, x_src=np.float32([1, 10]), backend=backend)
        np.testing.assert_array_equal(y, [1, 40])
        z = gsddmm(lambda weight, x_src: weight * x_src, A, x_src=np.float32([1, 10]), backend=backend)
        np.testing.assert_array_equal(z, [1, 0, 40])
        y = gspmm(lambda x_src: x_src, A, x_src=np.float32([1, 10]), reduce="mean", backend=backend)
        np.testing.assert_array_equal(y, [1, 10])


def test_a_message_of_a_constant_counts_edges():
    A, _, there = matrix("csr")
    np.testing.assert_array_equal(gspmm(lambda: 1.0, A), there.sum(1))


X = np.ones(COLUMNS, "f")


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        ({"reduce": "median"}, ValueError, "reduce is 'median'; expected 'sum' or 'mean'"),
        ({"x_dst": X}, ValueError, r"x_dst has shape \(9,\); expected a number, or \(7, ...\).* row of A"),
        ({"edge": X}, ValueError, r"edge has shape \(9,\); expected a number, or \(\d+, ...\).* each edge"),
        ({"x_src": X.astype("i")}, TypeError, "x_src has dtype int32; expected float32"),
        ({"x_dst": np.ones(ROWS, "f2")}, TypeError, "expected one dtype"),
        ({"other": 1.0}, TypeError, r"the message <lambda>\(x_src\) does not take what it is given.*other"),
        ({"A": 3}, TypeError, "A is a int .*expected a CSR"),
        ({"A": np.ones(3)}, TypeError, r"A is a ndarray of shape \(3,\).*expected a CSR"),
        ({"message": lambda x_src: jnp.ones(3)}, ValueError, r"returns an array of shape \(3,\)"),
        ({"message": lambda x_src: None}, TypeError, "returns None; expected a number"),
        ({"message": lambda x_src: 1.0 if x_src > 0 else 0.0}, Exception, "branches on `x_src > 0`"),
    ],
)
def test_errors_say_what_to_do(wrong, error, text):
    A, _, _ = matrix("csr")
    call = {"message": lambda x_src: x_src, "A": A, "x_src": X} | wrong
    given = call.pop("message"), call.pop("A")
    with pytest.raises(error, match=text):
        gspmm(*given, **call)


def test_features_that_do_not_broadcast():
    A, _, _ = matrix("csr")
    said = r"features of the message .* do not broadcast: x_src \(2,\), x_dst \(3,\)"
    with pytest.raises(ValueError, match=said):
        gspmm(lambda x_src, x_dst: x_src, A, x_src=np.ones((COLUMNS, 2), "f"), x_dst=np.ones((ROWS, 3), "f"))
    with pytest.raises(ValueError, match="messages have no features"):
        gsddmm(lambda x_src: x_src, A, x_src=X, reduce="sum")


def test_the_kernel_has_every_backend():
    assert set(kernel.backend_names) >= set(BACKENDS)


@pytest.mark.parametrize("backend", ["reference", "numba_cpu"])
def test_no_features_and_an_empty_batch(backend):
    A, _, _ = matrix("planned")
    x = jnp.ones((COLUMNS, 0))

    def f(weight, x):
        return gspmm(lambda weight, x_src: weight * x_src, A.with_data(weight), x_src=x, backend=backend)

    assert f(A.data, x).shape == (ROWS, 0)
    np.testing.assert_array_equal(jax.grad(lambda w: f(w, x).sum())(A.data), np.zeros(A.nse))
    z = gsddmm(lambda x_src: x_src, A, x_src=x, reduce="sum", backend=backend)
    np.testing.assert_array_equal(z, np.zeros(A.nse))
    assert jax.vmap(f, (0, None))(jnp.ones((0, A.nse)), X).shape == (0, ROWS)
