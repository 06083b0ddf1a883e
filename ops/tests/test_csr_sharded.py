"""Rows over shards: the cut is balanced, padding is inert, and what cannot be cut is refused."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from small_matrix import DENSE, small

from event_ops import CSR, CompactCSR, Events, ShardedCompactCSR, ShardedCSR, shard_csr
from event_ops.sparse.partition import balanced_starts, stored, stored_codes


def one_device() -> jax.sharding.Mesh:
    return jax.make_mesh((1,), ("i",))


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 9))
def test_blocks_are_balanced_to_the_longest_row(lengths, shards):
    ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    starts = balanced_starts(ends, shards)
    assert len(starts) == shards + 1 and (starts[0], starts[-1]) == (0, len(lengths))
    assert list(starts) == sorted(starts)
    assert all(np.diff(ends[list(starts)]) <= ends[-1] / shards + max(lengths, default=0))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_padded_blocks_are_the_rows_and_nothing_more(transposed, shards):
    rng = np.random.default_rng(shards)
    dense = np.where(rng.random((23, 17)) < 0.2, rng.integers(1, 9, (23, 17)), 0).astype("f")
    A = CSR.from_dense(dense)
    whole = stored(A.T if transposed else A)
    expected = dense.T if transposed else dense
    starts = balanced_starts(whole.ends(), shards)
    for low, high in pairwise(starts):
        part = whole.rows(low, high).padded(30, 400)
        assert part.indices.size == part.data.size == 400 and part.indices.dtype == np.int32
        shape = part.shape[::-1] if transposed else part.shape
        B = CSR(part.data + 1, part.indices, part.indptr, shape=shape, validate=False)
        B = B.T if transposed else B
        entries = (expected[low:high] != 0) + expected[
            low:high
        ]  # a weight of padding that is not 0 stays out
        v = np.arange(1, part.shape[1] + 1, dtype="f")
        for y in (B @ v, B @ Events(v), B.plan() @ Events(v)):
            np.testing.assert_array_equal(y[: high - low], entries @ v)
            np.testing.assert_array_equal(y[high - low :], 0)


@pytest.mark.parametrize("A", [small(), small().T, small().to_scipy()], ids=["CSR", "transposed", "SciPy"])
def test_one_shard_is_the_matrix(A):
    S = shard_csr(A, one_device(), "i")
    dense = DENSE.T if S.transposed else DENSE
    v, x = (np.arange(1, size + 1, dtype="f") for size in dense.shape[::-1])
    assert S.shape == dense.shape and isinstance(jax.tree.map(jnp.copy, S), ShardedCSR)
    np.testing.assert_array_equal(S.gather(S @ v), dense @ v)
    np.testing.assert_array_equal(S.gather(S @ Events(v > 1)), dense @ (v > 1))
    np.testing.assert_array_equal(S.scatter(x) @ S, x @ dense)
    np.testing.assert_array_equal(Events(S.scatter(x > 1)) @ S, (x > 1) @ dense)
    np.testing.assert_array_equal(S.gather(S @ dense.T), dense @ dense.T)


@pytest.mark.slow_cases("False")
@pytest.mark.parametrize("per_row", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_compact_matrix_keeps_its_words(transposed, per_row):
    weights = small() * np.array([[0.1], [0.7]], "f") if per_row else small()
    A = weights.compact()
    A = A.T if transposed else A
    S = shard_csr(A, one_device(), "i")
    assert isinstance(S, ShardedCompactCSR) and isinstance(jax.tree.map(jnp.copy, S), ShardedCompactCSR)
    v, x = (np.arange(1, size + 1, dtype="f") for size in A.shape[::-1])
    np.testing.assert_array_equal(S.gather(S @ v), A @ v)
    np.testing.assert_array_equal(S.gather(S @ Events(v > 1)), A @ Events(v > 1))
    np.testing.assert_array_equal(S.scatter(x) @ S, x @ A)
    np.testing.assert_array_equal(Events(S.scatter(x > 1)) @ S, Events(x > 1) @ A)
    np.testing.assert_array_equal(S.gather(S @ np.eye(v.size, dtype="f")), A.todense())


@pytest.mark.slow_cases("7", "3", "2")
@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_words_of_blocks_are_the_rows(shards):
    rng = np.random.default_rng(shards)
    A = CSR.from_dense(rng.integers(-2, 3, (16, 23)).astype("f")).compact()
    for whole, dense in ((stored_codes(A), A.todense()), (stored_codes(A.T), A.T.todense())):
        for low, high in pairwise(balanced_starts(whole.ends(), shards)):
            part = whole.rows(low, high)
            shape = part.shape[::-1] if part.transposed else part.shape
            B = CompactCSR(part.words(shape[1]), part.indptr, A.scale, shape=shape)
            found = (B.T if part.transposed else B).todense()
            np.testing.assert_array_equal(found, dense[low:high])


def test_a_product_has_the_shape_that_the_text_says():
    S = shard_csr(small(), one_device(), "i")
    assert repr(S) == "ShardedCSR(2 x 3, 1 shard along 'i', A @ v of shape (1, 2))"
    assert f"of shape {(S @ np.ones(3, 'f')).shape}" in repr(S)


def test_weights_have_gradients():
    S, v = shard_csr(small(), one_device(), "i"), np.array([1, 2, 3], "f")
    slope = jax.jit(jax.grad(lambda w: ((S.with_data(w) @ v) ** 2).sum()))(S.data)
    np.testing.assert_array_equal(slope, [[48, 32, 6]])


def test_what_cannot_be_cut_is_refused():
    mesh, A = one_device(), small()
    with pytest.raises(ValueError, match=r"axis is 'j'; expected one of the mesh: 'i'"):
        shard_csr(A, mesh, "j")
    with pytest.raises(ValueError, match=r"outside of jit"):
        jax.jit(lambda A: shard_csr(A, mesh, "i"))(A)
    for starts in ((0, 1), (1, 2), (0, 1, 2), (0,)):
        with pytest.raises(ValueError, match=r"expected 2 rows that rise from 0 to 2"):
            shard_csr(A, mesh, "i", starts=starts)
    with pytest.raises(TypeError, match=r"an element of starts is 1.5; expected an integer"):
        shard_csr(A, mesh, "i", starts=(0, 1.5))
    wide = scipy.sparse.csr_array(np.array([[1, 2**32]]))
    for cut in (lambda: shard_csr(A, mesh, "i").scatter([1, 2**32]), lambda: shard_csr(wide, mesh, "i")):
        with pytest.raises(ValueError, match="which int32 cannot; enable 64-bit"):
            cut()
    broken = CSR(A.data, A.indices, np.array([0, 3, 2]), shape=A.shape, validate=False)
    with pytest.raises(ValueError, match=r"indptr falls .*; correct it$"):
        shard_csr(broken, mesh, "i")


def test_operands_of_another_shape_are_refused():
    S = shard_csr(small(), one_device(), "i")
    with pytest.raises(ValueError, match=r"expected \(1, 2\), a block per shard: A.scatter\(x\)"):
        np.ones(2, "f") @ S
    with pytest.raises(ValueError, match=r"x has shape \(3,\); expected \(2,\)"):
        S.scatter(np.ones(3, "f"))
    for call, said in ((S.scatter, "x is traced"), (S.gather, "blocks are traced")):
        with pytest.raises(TypeError, match=f"{said}; expected a known array"):
            jax.jit(call)(np.ones((1, 2), "f"))
    with pytest.raises(ValueError, match=r"data has shape \(3,\); expected \(1, 3\)"):
        S.with_data(np.ones(3, "f"))
    with pytest.raises(ValueError, match=r"x has shape \(2,\)"):
        S @ np.ones(2, "f")
    with pytest.raises(ValueError, match=r"x has shape \(2, 3, 4\); .* jax.vmap"):
        S @ np.ones((2, 3, 4), "f")
    with pytest.raises(TypeError, match="two sparse matrices"):
        S @ small().T
    with pytest.raises(TypeError, match=r"ShardedCSR is not made a NumPy array unasked; .*A.gather\(A @ x\)"):
        np.asarray(S)


def test_a_matrix_from_files_is_read_through_scipy(tmp_path):
    matrix = scipy.sparse.random_array((40, 30), density=0.2, format="csr", dtype=np.float32, rng=1)
    names = ("data", "indices", "indptr")
    for name in names:
        np.save(tmp_path / f"{name}.npy", getattr(matrix, name))
    parts = tuple(np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in names)
    S = shard_csr(scipy.sparse.csr_array(parts, shape=(40, 30)), one_device(), "i")
    v = np.arange(30, dtype="f")
    np.testing.assert_allclose(S.gather(S @ v), matrix @ v, rtol=1e-5)
