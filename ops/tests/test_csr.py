"""`CSR` and `ELL`: their products are SciPy's, arithmetic keeps the structure, and they refuse the rest."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_matrices import REAL
from small_matrix import DENSE, formats, small

from event_ops import CSR, ELL, Events, csr_matvec, spike_compact

STORED = 24


@st.composite
def matrices(draw):
    """Small integers, so that sums are exact in any order; duplicates, unsorted, empty rows, padding."""
    rows, columns = 6, 4  # another shape would be compiled anew
    row = sorted(draw(st.lists(st.integers(0, rows - 1), min_size=STORED, max_size=STORED)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    indptr = np.searchsorted(row, np.arange(rows + 1))
    data = rng.integers(-4, 5, STORED).astype("f")
    ids = rng.integers(0, columns, STORED)
    if draw(st.booleans()):
        return CSR(data, ids, indptr, shape=(rows, columns))
    padded = np.where(rng.random(STORED) < 0.2, rng.choice([-1, columns], STORED), ids)
    return ELL(data.reshape(rows, -1), padded.reshape(rows, -1), shape=(rows, columns))


def close(result, expected):
    assert isinstance(result, jax.Array)
    scale = np.abs(expected).max(initial=0)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5 * scale)


@pytest.mark.slow_cases("laplacian")
@pytest.mark.parametrize("make", REAL)
def test_products_with_real_matrices_are_those_of_scipy(make):
    S = make().tocsr().astype(np.float32)
    A, rng = CSR.from_scipy(S).plan(), np.random.default_rng(0)
    u, v = (rng.standard_normal(size).astype("f") for size in S.shape)
    spikes = v > 1
    close(A @ v, S @ v)
    close(u @ A, u @ S)
    close(A.T @ np.stack([u, -u, 2 * u], 1), S.T @ np.stack([u, -u, 2 * u], 1))
    close(A @ Events(spikes), S @ spikes.astype("f"))
    close(Events(spikes) @ A.T, S @ spikes.astype("f"))
    close(A.T @ Events(np.where(u > 1, u, 0)), S.T @ np.where(u > 1, u, 0))


@settings(max_examples=10)
@given(matrices())
def test_every_product_and_orientation(A):
    D = np.asarray(A.todense())
    np.testing.assert_array_equal(A.to_scipy().toarray(), D)
    B = np.arange(-3, 3 * D.shape[1] - 3, dtype="f").reshape(-1, 3)
    C = np.arange(2 * D.shape[0], dtype="f").reshape(2, -1)
    for M, E, X, Y in ((A, D, B, C), (A.T, D.T, C.T, B.T), (A.plan(), D, B, C)):
        assert M.shape == E.shape
        np.testing.assert_array_equal(M.todense(), E)
        np.testing.assert_array_equal(M @ X, E @ X)
        np.testing.assert_array_equal(Y @ M, Y @ E)
        np.testing.assert_array_equal(M @ X[:, 1], E @ X[:, 1])
        np.testing.assert_array_equal(Y[1] @ M, Y[1] @ E)
        np.testing.assert_array_equal(M @ Events(X), E @ X)
        np.testing.assert_array_equal(Events(Y > 3) @ M, (Y > 3) @ E)
        np.testing.assert_array_equal(M @ Events(X[:, 0] > 0), E @ (X[:, 0] > 0))
        np.testing.assert_array_equal(Events(Y[1]) @ M, Y[1] @ E)
        np.testing.assert_array_equal(M.tocsr().todense(), E)


@settings(max_examples=10)
@given(matrices())
def test_arithmetic_keeps_the_structure(A):
    D = np.asarray(A.todense())
    X = np.arange(1, D.size + 1, dtype="f").reshape(D.shape)
    powers = np.ldexp(1, np.arange(9)).astype("f")
    for M, E, Y in ((A, D, X), (A.T, D.T, X.T), (A.plan(), D, X)):
        results = {
            "-A": (-M, -E),
            "2A": (2 * M, 2 * E),
            "A/4": (M / 4, E / 4),
            "A*X": (M * Y, E * Y),
            "X*A": (Y * M, E * Y),
            "A/powers": (M / powers[: E.shape[1]], E / powers[: E.shape[1]]),
            "A*row": (M * Y[:, :1], E * Y[:, :1]),
            "A+A": (M + M, 2 * E),
            "A-3A": (M - 3 * M, -2 * E),
        }
        for name, (result, expected) in results.items():
            assert result.same_structure(M), name
            np.testing.assert_array_equal(result.todense(), expected, name)
        doubled = M * 2 if M.by_column else M.plan() * 2
        v = np.ones(E.shape[1], "f")
        np.testing.assert_array_equal(doubled @ Events(v), 2 * E @ v)


@pytest.mark.parametrize("weight", [0.5, np.float32(0.5), np.array([0.5], "f")])
def test_one_weight_for_all_entries(weight):
    A = small(data=weight)
    D, v = 0.5 * (DENSE > 0), np.array([1, 2, 4], "f")
    for M in (A, A.plan(), 1.0 * A):
        assert M.data.shape == () and M.nse == 3
        np.testing.assert_array_equal(M @ v, D @ v)
        np.testing.assert_array_equal(M @ np.eye(3, dtype="f"), D)
        np.testing.assert_array_equal(M @ Events(v > 1), D @ (v > 1))
        np.testing.assert_array_equal(M.T.tocsr().todense(), D.T)
        np.testing.assert_array_equal((M * DENSE).todense(), D * DENSE)
    assert (A + A).data.shape == ()
    assert small(data=np.ones(1, "f"), indices=[0], indptr=[0, 1, 1]).data.shape == (1,)
    assert A.to_scipy().data.tolist() == [0.5] * 3


def test_one_weight_is_not_repeated_for_a_product():
    A = small(data=0.5)
    for x in (np.ones(3, "f"), np.ones((3, 2), "f"), Events(np.ones(3, "f"))):
        assert "broadcast" not in str(jax.make_jaxpr(lambda A, x: A @ x)(A, x))
    slope = jax.grad(lambda w: (A.with_data(w) @ np.array([1, 2, 4], "f")).sum())(A.data)
    assert slope == 7


@formats
def test_an_array_on_the_left_asks_the_matrix(small):
    A, u = small(), np.array([1, 2], "f")
    for left in (u, jnp.asarray(u)):
        np.testing.assert_array_equal(left @ A, u @ DENSE)
        np.testing.assert_array_equal((left[:1] * A).todense(), DENSE)
        np.testing.assert_array_equal((left[1] * A).todense(), 2 * DENSE)
    np.testing.assert_array_equal(jax.jit(lambda u: u @ A)(u), u @ DENSE)
    np.testing.assert_array_equal(jax.vmap(lambda u: u @ A)(np.eye(2, dtype="f")), DENSE)


@formats
@pytest.mark.parametrize("planned", [False, True])
def test_an_inactive_event_adds_nothing_whatever_its_weight(small, planned):
    A = small(data=np.array([np.inf, 1, np.nan], "f"))
    A = A.plan() if planned else A
    np.testing.assert_array_equal(A @ Events(np.array([False, True, False])), [1, 0])
    np.testing.assert_array_equal(Events(np.array([0.0, 0.0], "f")) @ A, [0, 0, 0])


@formats
@pytest.mark.parametrize("planned", [False, True])
def test_events_as_spike_ids(small, planned):
    A = small().plan() if planned else small()
    ids, _ = spike_compact(np.array([True, False, True]), capacity=5)
    np.testing.assert_array_equal(A @ Events(ids, "ids"), DENSE[:, 0] + DENSE[:, 2])
    np.testing.assert_array_equal(Events(ids[:1], "ids") @ A, DENSE[0])


@pytest.mark.slow_cases("ELL")
@formats
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_weights_of_another_dtype(small, dtype):
    with jax.enable_x64(True):
        A = small().astype(dtype)
        assert A.dtype == dtype
        np.testing.assert_array_equal(A @ np.arange(3).astype(dtype), DENSE @ np.arange(3))


def test_shape_size_and_text():
    A = small()
    assert (A.shape, A.T.shape, A.ndim, A.nse, A.dtype) == ((2, 3), (3, 2), 2, 3, np.float32)
    assert A.T.T.shape == A.shape
    assert repr(A) == "CSR(2 x 3, 3 entries (0.5 of all), float32, indices int32)"
    assert (
        repr(A.plan().T) == "CSR(3 x 2, 3 entries (0.5 of all), float32, indices int32, transposed, planned)"
    )
    assert "one weight, float32" in repr(small(data=2.0))
    assert "0 x 0, 0 entries" in repr(
        small(data=np.zeros(0, "f"), indices=np.zeros(0, int), indptr=[0], shape=(0, 0))
    )


def test_text_of_a_matrix_whose_leaves_are_no_arrays():
    seen = []
    jax.jit(lambda A: seen.append(repr(A)))(small())
    assert seen == ["CSR(2 x 3, 3 entries (0.5 of all), float32, indices int32)"]
    stack = jax.tree.map(lambda x: jnp.stack([x, x]), small())
    assert repr(stack) == f"{seen[0][:-1]}, a batch of (2,))"
    assert stack.nse == 3
    jax.vmap(lambda A: seen.append(repr(A)))(stack)
    assert seen[1:] == seen[:1]
    assert repr(jax.vmap(small().with_data)(np.ones(4, "f"))).startswith(
        "CSR(2 x 3, 3 entries (0.5 of all), one"
    )
    assert repr(jax.tree.map(lambda x: object(), small())) == "CSR(2 x 3, ? entries, object, indices object)"


def test_structures_compare_by_content():
    A = small()
    assert A.same_structure(small(data=np.zeros(3, "f")))
    assert not A.same_structure(small(indices=np.array([2, 0, 0])))
    assert not A.same_structure(A.T)
    assert jax.jit(lambda A: (A + 2 * A).data.sum())(A) == 18
    with pytest.raises(ValueError, match=r"same arrays; .* A.with_data\(A.data \+ B.data\)"):
        jax.jit(lambda A, B: A.same_structure(B))(A, small())


REFUSED = {
    "adding a number": (lambda A: A + 1, TypeError, r"use A.todense\(\) \+ x"),
    "element by element": (lambda A: A / A, TypeError, "two sparse matrices"),
    "no broadcast": (lambda A: A * np.ones((3, 2), "f"), ValueError, "does not broadcast.*A @ B"),
    "no broadcast to A.T": (lambda A: A.T * DENSE, ValueError, r"\(2, 3\) does not .* matrix, \(3, 2\)"),
    "three axes": (lambda A: A * np.ones((1, 2, 3), "f"), ValueError, "does not broadcast"),
    "matrix for a vector": (
        lambda A: csr_matvec(A.data, A.indices, A.indptr, np.ones((2, 1), "f"), shape=A.shape),
        ValueError,
        r"^(?!.*it fits)v has shape \(2, 1\)",
    ),
    "short operand": (lambda A: A @ np.ones(2, "f"), ValueError, "one element per column"),
    "other rows": (lambda A: np.ones((4, 1), "f") @ A, ValueError, r"\(4, 1\); .* per row of A, for x @ A"),
    "the transpose": (lambda A: A @ np.ones((2, 4), "f"), ValueError, "it fits A.T @ x"),
    "other matrices": (
        lambda A: A @ np.ones((3, 4, 2), "f"),
        ValueError,
        r"expected \(3,\) or \(..., 3, n\)",
    ),
    "short events": (lambda A: A @ Events(np.ones(2, bool)), ValueError, r"x has shape \(2,\).* A.T @ x"),
    "number as operand": (lambda A: A @ 2.0, ValueError, r"a product with a number is A \* x"),
    "a gradient's structure": (
        lambda A: A - 0.1 * jax.grad(lambda A: (A @ np.ones(3, "f")).sum(), allow_int=True)(A),
        TypeError,
        "indices has dtype .*float0.* the gradient of the weights",
    ),
    "short data": (lambda A: A.with_data(np.ones(2, "f")), ValueError, r"data has shape \(2,\)"),
    "a fraction as the weight of integers": (
        lambda A: A.astype(int).with_data(0.5),
        ValueError,
        "0.5, which int32 cannot hold; expected a whole number",
    ),
    "a number beyond 32 bits": (
        lambda A: A.astype(int) * np.int64(2**33),
        ValueError,
        "8589934592, which int32 cannot; enable 64-bit",
    ),
    "unsigned events": (
        lambda A: A @ Events(np.ones(3, "u1")),
        TypeError,
        r"astype\(.bool.\); .*='ids'",
    ),
    "bits of too few": (
        lambda A: A @ Events(np.ones((2, 5), "u4"), "bits"),
        ValueError,
        r"events has shape \(2,\); expected \(1,\): bits",
    ),
    "short counts": (
        lambda A: A @ Events(np.ones((2, 5), "u1"), "counts"),
        ValueError,
        r"x has shape \(2, 5\).* A.T @ x",
    ),
    "a pair as events": (
        lambda A: Events(spike_compact(np.ones(3, bool)), "ids"),
        TypeError,
        "values is a tuple; .*spike_compact",
    ),
    "events by a dense matrix": (
        lambda A: Events(np.ones(3, bool)) @ np.ones((3, 2), "f"),
        TypeError,
        r"dense_event_matvec\(weights, events, transpose=True\)",
    ),
    "a dense matrix by events": (
        lambda A: np.ones((2, 3), "f") @ Events(np.ones(3, bool)),
        TypeError,
        r"dense_event_matvec\(weights, events, transpose=False\)",
    ),
    "one event": (lambda A: Events(np.array(True)), ValueError, r"values has shape \(\)"),
}


@pytest.mark.slow_cases("a gradient's structure")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_do(name):
    call, error, match = REFUSED[name]
    with pytest.raises(error, match=match):
        call(small())
