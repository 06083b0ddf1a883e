"""`CompactCSR` of 16-bit words: weights that need no code; matrices in parts where columns are many."""

import jax
import numpy as np
import pytest
from implemented import backends

from event_ops import CSR, Events, compact_event_arrivals, csr_event_arrivals, shard_csr, spike_compact

ROWS, NSE = 40, 900
MANY = 70_001  # more than 16 bits tell apart
RNG = np.random.default_rng(5)
STRENGTH = RNG.integers(-9, 9, ROWS).astype("f")
WEIGHTS = {"one": np.float32(0.7), "one per row": STRENGTH}


def matrix(columns, weights, rows=ROWS):
    """A matrix of which all entries, or all of a row, have one weight; many in the first and last columns."""
    row, column = RNG.integers(0, rows, NSE), RNG.integers(0, columns, NSE)
    column[:200], column[200:400] = column[:200] % 7, columns - 1 - column[200:400] % 7
    A = CSR.from_coo(row, column, np.ones(NSE, "f"), shape=(rows, columns))
    return CSR(weights, A.indices, A.indptr, shape=A.shape) if weights.ndim == 0 else A * weights[:, None]


@pytest.mark.parametrize("columns", [70, MANY])
@pytest.mark.parametrize("name", WEIGHTS)
def test_products_are_those_of_the_csr(name, columns):
    A = matrix(columns, WEIGHTS[name])
    B = A.compact()
    assert (B.entries.dtype, B.code_bits, B.indptr.ndim) == (np.uint16, 0, 1 + (columns == MANY))
    assert B.scale.shape == WEIGHTS[name].shape and float(B.error) == 0
    assert "words of 16 bits" in repr(B)
    x, z = np.arange(columns) % 3 - 1.0, np.arange(ROWS) % 4 - 1.0
    x, z = x.astype("f"), z.astype("f")
    near = {"rtol": 1e-5, "atol": 1e-4}
    for M in (B, B.plan()):
        np.testing.assert_allclose(M @ x, A @ x, **near)
        np.testing.assert_allclose(z @ M, z @ A, **near)
        np.testing.assert_allclose(M @ Events(x > 0), A @ Events(x > 0), **near)
        np.testing.assert_allclose(Events(z > 0) @ M, Events(z > 0) @ A, **near)
        np.testing.assert_allclose(M @ Events(spike_compact(x > 0)[0], "ids"), A @ Events(x > 0), **near)
        np.testing.assert_allclose(jax.jit(lambda M, x: M @ x)(M, np.stack([x, x], 1)).T, [A @ x] * 2, **near)
    np.testing.assert_array_equal(B.todense(), A.todense())
    C = B.tocsr()
    np.testing.assert_array_equal(C.indptr, A.indptr)
    np.testing.assert_array_equal(C.todense(), A.todense())


def test_both_ways_of_a_square_in_parts():
    A = matrix(MANY, np.float32(2), rows=MANY)
    words = CSR(np.float32(2), np.tile(A.indices, 300), 300 * A.indptr, shape=A.shape)
    B = words.compact().plan()
    assert B.indptr.shape == B.by_column.indptr.shape == (2, MANY + 1)
    x = np.arange(MANY) % 3 == 0
    np.testing.assert_array_equal(B @ Events(x), words @ Events(x))
    np.testing.assert_array_equal(B.T @ Events(x), words.T @ Events(x))


def test_words_of_32_bits_are_kept_where_ends_of_rows_would_take_more():
    few = CSR(np.float32(2), [0], [0, 1], shape=(1, 2**20))
    with pytest.raises(ValueError, match="parts of 65536 columns would save nothing; keep the CSR"):
        few.compact()
    assert CSR(np.ones(1, "f"), [0], [0, 1], shape=(1, 2**20)).compact().entries.dtype == np.uint32


@backends("compact_event_arrivals")
@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize("columns", [70, MANY])
def test_arrivals_in_parts(backend, parts, columns):
    slots, neurons = 5, ROWS // 5
    A = matrix(columns, np.float32(3))
    B = A.compact()
    entries, indptr, starts = B.in_parts(parts)
    assert entries.dtype == np.uint16 and np.diff(starts).max() <= 2**16
    assert len(indptr) == (2 if (columns, parts) == (MANY, 1) else parts)  # one part would be too wide
    history = RNG.random((slots, neurons)) < 0.5
    found = compact_event_arrivals(
        history, entries, indptr, B.scale, 2, shape=(neurons, columns), starts=starts, backend=backend
    )
    wanted = csr_event_arrivals(history, A.data, A.indices, A.indptr, 2, shape=(neurons, columns))
    assert np.count_nonzero(wanted) > 20
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("columns", [70, MANY])
def test_shards_keep_16_bits(transposed, columns):
    A = matrix(columns, STRENGTH).compact()
    A = A.T if transposed else A
    S = shard_csr(A, jax.sharding.Mesh(np.array(jax.devices()[:1]), "i"), "i")
    assert S.entries.dtype == np.uint16
    v = np.arange(A.shape[1]) % 3
    np.testing.assert_array_equal(S.gather(S @ v.astype("f")), A @ v.astype("f"))
    np.testing.assert_array_equal(S.gather(S @ Events(v > 1)), A @ Events(v > 1))
