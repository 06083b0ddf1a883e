"""The same bits again: for a thread count, for most operators for any; generated matrices everywhere."""

import hashlib
import json

import jax.numpy as jnp
import numpy as np
import pytest
from child_processes import succeed

from event_ops import procedural_matvec, procedural_todense
from event_ops.discover import operators
from ffi_bridge import get_operator

pytestmark = pytest.mark.promise(10)

NAMES = [operator.name for operator in operators()]
# Threads have sums of their own, which are added up at the end.
SHARED_SUMS = {
    *(f"{name} transposed" for name in ("compact_matvec", "csr_matmat", "csr_matvec", "ell_matvec")),
    "procedural_matvec transposed",
    *("scatter_add", "scatter_mul", "segment_sum"),
}

# Seed and probability of a generated matrix -> digests: where it has entries, uniform weights, a product.
SHAPE = (40, 300)
GOLDEN = {
    (0, 0.03): ["c08103b6364a53a9", "b507eef2d7bba44c", "efea70f481af1f2f"],
    (2**31 + 5, 0.5): ["ca8c1e950b96e02c", "00372c74f93f0047", "6f391804ec1ab223"],
    (2**32 - 1, 0.001): ["86804e414b7b252d", "e1d2f276ab4f4c94", "d2155f35baf35667"],
}
KERNEL = get_operator("procedural_matvec")


def digests(threads):
    return json.loads(succeed("operator_digests.py", limit=900, NUMBA_NUM_THREADS=str(threads)))


@pytest.fixture(scope="module")
def runs():
    """By thread count, and once more for two."""
    pytest.importorskip("numba", reason="Numba is not installed")
    return {"1": digests(1), "2": digests(2), "2 again": digests(2)}


@pytest.mark.slow
def test_a_thread_count_gives_the_same_bits_at_every_call_and_in_every_process(runs, record_property):
    record_property("tried", 3 * 5 * len(runs["2"]))
    assert {name.partition(" ")[0] for name in runs["2"]} == set(NAMES)
    assert [name for run in runs.values() for name in run if len(run[name]) > 1] == []
    assert runs["2"] == runs["2 again"]


@pytest.mark.slow
def test_another_thread_count_changes_sums_that_threads_share_and_nothing_else(runs, record_property):
    record_property("tried", len(runs["1"]))
    assert {name for name in runs["1"] if runs["1"][name] != runs["2"][name]} == SHARED_SUMS


def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def product(backend, seed, prob):
    """Of the matrix with 1 for every entry and whole numbers, so that every order gives the same bits."""
    v = jnp.asarray(np.random.default_rng(0).integers(-1000, 1000, SHAPE[1]), jnp.float32)
    return procedural_matvec(1.0, seed, v, prob=prob, shape=SHAPE, backend=backend)


@pytest.mark.parametrize(("seed", "prob"), GOLDEN)
def test_generated_matrices_are_those_of_the_first_release(seed, prob):
    dense = np.asarray(procedural_todense((-1.0, 3.0), seed, prob=prob, shape=SHAPE, distribution="uniform"))
    assert [digest(dense != 0), digest(dense)] == GOLDEN[seed, prob][:2]


@pytest.mark.parametrize("backend", KERNEL.available_backends("cpu"))
def test_every_backend_generates_the_same(backend, record_property):
    record_property("tried", len(GOLDEN))
    for seed_and_prob in GOLDEN:
        assert digest(product(backend, *seed_and_prob)) == GOLDEN[seed_and_prob][2]


def test_a_cuda_kernel_generates_the_same(on_gpu):
    seed_and_prob = next(iter(GOLDEN))
    assert digest(product("numba_cuda", *seed_and_prob)) == GOLDEN[seed_and_prob][2]
