"""Generated matrices: the same ones everywhere, and as random as they say."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from implemented import backends

from event_ops import (
    csr_matvec,
    procedural_event_matmat,
    procedural_event_matvec,
    procedural_matvec,
    procedural_tocsr,
    procedural_todense,
)
from event_ops.kernels.oracle.generated import philox
from event_ops.kernels.reference.bernoulli import CUT_BITS, GAP_BITS, NO_ENTRY, gap_counts, gap_table
from event_ops.kernels.reference.random_numbers import philox2x32

WEIGHTS = {"constant": 0.5, "uniform": (-1.0, 3.0), "normal": (0.25, 2.0)}

# Counter, key and words: the test vectors published with Random123.
KNOWN = [
    ((0, 0, 0), (0xFF1DAE59, 0x6CD10DF2)),
    ((0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF), (0x2C3F628B, 0xAB4FD7AD)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E), (0xDD7CE038, 0xF62A4C12)),
]


@pytest.mark.parametrize(("given", "words"), KNOWN)
def test_philox_gives_the_published_words(given, words):
    for array in (np.asarray, jnp.asarray):
        result = philox2x32(*(array([x], "uint32") for x in given))
        assert tuple(int(word[0]) for word in result) == words
    assert philox(*given) == words


@pytest.mark.parametrize("prob", [0.0, 1e-12, 1e-4, 0.001, 0.3, 0.999, 1.0])
def test_the_table_holds_exactly_the_geometric_distribution(prob):
    counts = [0] * (NO_ENTRY + 1)
    for slot, entry in enumerate(gap_table(prob).tolist()):
        cut, alias = divmod(entry, 1 << GAP_BITS)
        counts[slot] += cut
        counts[alias] += (1 << CUT_BITS) - cut
    assert counts == gap_counts(prob)
    assert sum(counts) == 1 << 32
    miss = 1 - Fraction(prob)
    for gap in (0, 1, 7):
        expected = miss**gap * Fraction(prob) * 2**32
        assert abs(counts[gap] - expected) <= 1


EACH = {"vectors": lambda f: lambda units: jax.lax.map(f, units), "a matrix": jax.vmap}


@pytest.mark.promise(10)
@pytest.mark.parametrize("times", EACH)
@pytest.mark.parametrize("distribution", WEIGHTS)
@backends("procedural_matvec")
def test_every_backend_orientation_and_dtype_has_the_same_matrix(backend, distribution, times):
    shape, seed = (40, 300), 2**31 + 5
    given = {"prob": 0.03, "shape": shape, "distribution": distribution}
    dense = procedural_todense(WEIGHTS[distribution], seed, **given)
    assert dense.dtype == np.float32
    for x64, dtype in ((False, np.float32), (True, np.float64)):
        with jax.enable_x64(x64):
            weight = jnp.asarray(WEIGHTS[distribution], dtype)

            def columns(units, transpose, weight=weight):
                f = lambda v: procedural_matvec(  # noqa: E731
                    weight, seed, v, transpose=transpose, backend=backend, **given
                )
                return jax.jit(EACH[times](f))(units)

            forward = columns(jnp.eye(shape[1], dtype=dtype), False).T
            backward = columns(jnp.eye(shape[0], dtype=dtype), True)
        assert forward.dtype == dtype
        np.testing.assert_array_equal(np.asarray(forward) != 0, np.asarray(dense) != 0)
        np.testing.assert_array_equal(forward, backward)
        if distribution == "normal":
            np.testing.assert_allclose(forward, dense, rtol=2e-5, atol=2e-5)
        else:
            np.testing.assert_allclose(forward, dense, rtol=1e-6)


@pytest.mark.slow_cases("numba_cpu")
@backends("procedural_matvec")
def test_prob_zero_and_one(backend):
    # More columns than a table has slots.
    given = {"shape": (1, 5000), "transpose": True, "backend": backend}
    for prob in (0.0, 1.0):
        y = procedural_event_matvec(2.0, 3, np.ones(1, bool), prob=prob, **given)
        np.testing.assert_array_equal(y, np.full(5000, 2 * prob))


@pytest.mark.slow
def test_csr_is_the_same_matrix():
    given = {"prob": 0.02, "shape": (300, 500), "distribution": "uniform"}
    data, indices, indptr = procedural_tocsr((1.0, 2.0), 9, **given)
    assert np.all(np.diff(np.asarray(indices))[np.diff(np.repeat(np.arange(300), np.diff(indptr))) == 0] > 0)
    v = jnp.linspace(-1, 1, 500, dtype="float32")
    stored = csr_matvec(data, indices, indptr, v, shape=(300, 500))
    np.testing.assert_allclose(stored, procedural_matvec((1.0, 2.0), 9, v, **given), rtol=1e-4, atol=1e-5)
    empty = procedural_tocsr(1.0, 9, prob=0.0, shape=(3, 0))
    assert [x.tolist() for x in empty] == [[], [], [0, 0, 0, 0]]


def test_a_traced_seed_is_refused_where_the_size_depends_on_it():
    with pytest.raises(TypeError, match="seed is traced; expected a concrete integer"):
        jax.jit(lambda seed: procedural_todense(1.0, seed, prob=0.1, shape=(2, 2)))(1)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused(seed):
    with pytest.raises(ValueError, match=r"expected an integer in \[0, 2\*\*32\)"):
        procedural_matvec(1.0, seed, np.ones(2, "f"), prob=0.1, shape=(2, 2))


@pytest.mark.slow
@backends("procedural_matvec")
@pytest.mark.parametrize("transpose", [False, True])
def test_inactive_events_hide_a_weight_that_is_not_a_number(backend, transpose):
    static = {"prob": 0.5, "shape": (30, 30), "transpose": transpose, "backend": backend}
    for events in (np.zeros(30, bool), np.zeros(30, "f")):
        np.testing.assert_array_equal(procedural_event_matvec(np.nan, 1, events, **static), np.zeros(30))
        columns = np.stack([events, events], 1)
        np.testing.assert_array_equal(procedural_event_matmat(np.nan, 1, columns, **static), columns)


@pytest.mark.parametrize("name", ["procedural_matvec", "procedural_event_matvec"])
@pytest.mark.parametrize("transpose", [False, True])
@backends("procedural_matvec")
def test_vmap_over_vectors_generates_rows_once(backend, transpose, name):
    product = {"procedural_matvec": procedural_matvec, "procedural_event_matvec": procedural_event_matvec}
    shape = (12, 50)
    given = {"prob": 0.2, "shape": shape, "transpose": transpose, "backend": backend}
    dense = np.asarray(procedural_todense(2.0, 4, prob=0.2, shape=shape))
    X = np.random.default_rng(0).integers(-1, 2, (36, shape[not transpose])).astype("f")
    batched = jax.vmap(lambda x: product[name](2.0, 4, x, **given))
    np.testing.assert_array_equal(batched(X), X @ (dense if transpose else dense.T))
    names = [eqn.primitive.name for eqn in jax.make_jaxpr(batched)(X).eqns]
    assert [n for n in names if n.startswith("procedural")] == [name.replace("matvec", "matmat")]


def pattern(seed, prob, shape):
    return np.asarray(procedural_todense(1.0, seed, prob=prob, shape=shape))


def correlation(a, b):
    return np.corrcoef(a.reshape(-1), b.reshape(-1))[0, 1]


@pytest.mark.parametrize("prob", [0.002, 0.1, 0.9])
def test_degrees_have_the_binomial_mean_and_variance(prob):
    A = pattern(11, prob, (1000, 1000))
    variance = prob * (1 - prob)
    assert abs(A.mean() - prob) < 5 * np.sqrt(variance) / 1000
    for axis in (0, 1):
        # The variance of a variance of 1000 degrees is about 2 / 1000 of its square.
        assert abs(A.sum(axis).var() / (1000 * variance) - 1) < 5 * np.sqrt(
            (2 + 1 / (1000 * variance)) / 1000
        )


def test_rows_columns_and_seeds_are_not_correlated():
    A, B = pattern(0, 0.1, (600, 600)), pattern(1, 0.1, (600, 600))
    limit = 5 / 600
    assert abs(correlation(A, B)) < limit
    assert abs(correlation(A, A.T)) < limit
    for lag in (1, 2, 3, 16, 32):
        assert abs(correlation(A[lag:], A[:-lag])) < limit
        assert abs(correlation(A[:, lag:], A[:, :-lag])) < limit


@pytest.mark.parametrize(
    ("distribution", "mean", "std"), [("uniform", 1.0, 4 / 12**0.5), ("normal", 0.25, 2.0)]
)
def test_weights_have_their_mean_and_deviation(distribution, mean, std):
    given = {"prob": 0.1, "shape": (600, 600), "distribution": distribution}
    weights = np.asarray(procedural_tocsr(WEIGHTS[distribution], 5, **given)[0])
    error = std / np.sqrt(weights.size)
    assert abs(weights.mean() - mean) < 5 * error
    assert abs(weights.std() - std) < 5 * error
    assert abs(correlation(weights[1:], weights[:-1])) < 5 / np.sqrt(weights.size)
    third = ((weights - mean) ** 3).mean() / std**3
    assert abs(third) < 5 * np.sqrt(15 / weights.size)


@pytest.mark.slow
@backends("procedural_matvec")
def test_one_matrix_per_seed_under_vmap(backend):
    seeds, v = jnp.arange(3, dtype="uint32"), jnp.ones(50)
    given = {"prob": 0.2, "shape": (20, 50)}
    batched = jax.vmap(lambda seed: procedural_matvec(1.0, seed, v, backend=backend, **given))(seeds)
    singly = [procedural_todense(1.0, seed, **given).sum(1) for seed in range(3)]
    np.testing.assert_array_equal(batched, np.stack(singly))
    assert len({row.tobytes() for row in np.asarray(batched)}) == 3
