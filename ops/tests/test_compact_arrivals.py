"""`compact_event_arrivals`: matrices of words in parts of their columns."""

import functools
import importlib
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from implemented import backends

import event_ops
import ffi_bridge
from event_ops import CSR, compact_event_arrivals, csr_event_arrivals

NEURONS, SLOTS, COLUMNS, SYNAPSES = 37, 5, 29, 900
SHAPE = NEURONS, COLUMNS
RNG = np.random.default_rng(3)
ROWS, POST = RNG.integers(0, NEURONS * SLOTS, SYNAPSES), RNG.integers(0, COLUMNS, SYNAPSES)
WEIGHTS = np.round(RNG.normal(0, 9, SYNAPSES)).astype("f")  # sums of whole numbers are exact in any order
HISTORY = RNG.random((SLOTS, NEURONS)) < 0.3


@functools.cache
def matrices():
    """Return a matrix of weights and the same in words."""
    A = CSR.from_coo(ROWS, POST, WEIGHTS, shape=(NEURONS * SLOTS, COLUMNS))
    return A, A.compact()


@pytest.mark.slow_cases("numba_cpu", "29")
@backends("compact_event_arrivals")
@pytest.mark.parametrize("parts", [1, 2, 3, COLUMNS, 40])
def test_parts_are_the_whole(backend, parts):
    A, B = matrices()
    wanted = csr_event_arrivals(HISTORY, A.data, A.indices, A.indptr, 3, shape=SHAPE)
    entries, indptr, starts = B.in_parts(parts)
    how = {"shape": SHAPE, "starts": starts, "backend": backend}
    found = compact_event_arrivals(HISTORY, entries, indptr, B.scale, 3, **how)
    assert np.count_nonzero(wanted) > 20
    np.testing.assert_array_equal(found, wanted)


def test_parts_have_as_many_words():
    busy = np.where(POST < 5, POST, COLUMNS - 1)  # most words in the last column, which one part has
    for columns, parts in ((POST, 3), (busy, 2)):
        C = CSR.from_coo(ROWS, columns, WEIGHTS, shape=(NEURONS * SLOTS, COLUMNS)).compact()
        entries, indptr, starts = C.in_parts(parts)
        longest = np.bincount(columns).max()
        assert (starts[0], starts[-1], entries.size) == (0, COLUMNS, C.nse)
        assert np.ptp(indptr[:, -1] - indptr[:, 0]) <= 2 * longest
        assert (np.diff(starts) >= 0).all()


def test_columns_are_those_of_the_parts_that_starts_tell():
    entries = np.array([1 << 2 | 1, 2 << 2 | 2, 4 << 2 | 1, 8 << 2 | 2], np.uint32)
    indptr = np.array([[0, 2], [2, 4]])
    found = partial(compact_event_arrivals, np.ones((1, 1), bool), entries, indptr, 1.0, 0, shape=(1, 4))
    np.testing.assert_array_equal(found(), [0, 1, 0, 4])
    np.testing.assert_array_equal(found(starts=np.array([0, 3, 4])), [0, 1, 2, 0])
    np.testing.assert_array_equal(found(starts=np.array([0, 1, 4])), [0, 0, 4, 8])
    for broken in ([3, 1, 4], [0, 9, 4], [-5, 3, 2]):  # no two parts share a column
        with ffi_bridge.use_backend("reference"):
            wanted = found(starts=np.array(broken))
        np.testing.assert_array_equal(found(starts=np.array(broken)), wanted)
        with event_ops.validate(), pytest.raises(ValueError, match=r"starts.*an ascent from 0 to 4"):
            found(starts=np.array(broken))
    with (
        event_ops.validate(),
        pytest.raises(ValueError, match=r"entries\[1\] is 10, .* a column of their part"),
    ):
        found()


@pytest.mark.slow
def test_neither_parts_nor_threads_change_a_bit(monkeypatch):
    numba = pytest.importorskip("numba", reason="the kernel is Numba's")
    kernels = importlib.import_module("event_ops.kernels.numba_cpu.arrivals")
    monkeypatch.setattr(kernels, "MIN_ENTRIES_PARALLEL", 0)
    neurons, columns, nse = 40, 900, 200_000
    rows, post = RNG.integers(0, neurons * 64, nse), RNG.integers(0, columns, nse)
    matrix = CSR.from_coo(rows, post, RNG.normal(0, 1, nse).astype("f"), shape=(neurons * 64, columns))
    words = matrix.compact(atol=1e-4)
    history, scale = RNG.random((64, neurons)) < 0.5, words.scale * np.float32(1 / 3)
    before, found = numba.get_num_threads(), []
    try:
        for threads in sorted({1, before}):
            numba.set_num_threads(threads)
            for parts in (1, 2, 5):
                entries, indptr, starts = words.in_parts(parts)
                how = {"shape": (neurons, columns), "starts": starts, "backend": "numba_cpu"}
                found.append(compact_event_arrivals(history, entries, indptr, scale, 70, **how))
    finally:
        numba.set_num_threads(before)
    assert np.count_nonzero(found[0]) == columns
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.slow
def test_derivatives_are_those_of_the_csr():
    def total(product):
        return lambda x, y: (product(x, y, 3, shape=SHAPE) ** 2).sum()

    A, B = matrices()
    *words, starts = B.in_parts(2)
    ours = total(
        lambda x, scale, *rest, **how: compact_event_arrivals(x, *words, scale, *rest, starts=starts, **how)
    )
    theirs = total(
        lambda x, scale, *rest, **how: csr_event_arrivals(
            x, A.data / B.scale * scale, A.indices, A.indptr, *rest, **how
        )
    )
    numbers = jnp.asarray(HISTORY * RNG.normal(0, 1, HISTORY.shape), jnp.float32)
    for found, wanted in zip(*(jax.grad(f, (0, 1))(numbers, B.scale) for f in (ours, theirs)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-2)


def test_a_loop_over_time_steps_does_not_copy_the_sums():
    _, B = matrices()
    *words, starts = B.in_parts(2)

    def step(t, y):
        how = {"shape": SHAPE, "starts": starts, "initial": y, "backend": "numba_cpu"}
        return compact_event_arrivals(HISTORY, *words, B.scale, t, **how)

    loop = jax.jit(lambda y: jax.lax.fori_loop(0, 9, step, y), donate_argnums=0)
    text = loop.lower(jnp.zeros(COLUMNS)).compile().as_text()
    assert " custom-call(" in text
    assert [line for line in text.splitlines() if f"f32[{COLUMNS}]" in line and " copy(" in line] == []


def test_no_parts_and_traced_matrices_are_refused():
    _, B = matrices()
    with pytest.raises(ValueError, match="parts is 0; expected an integer >= 1"):
        B.in_parts(0)
    with pytest.raises(ValueError, match="the matrix is being traced"):
        jax.jit(lambda B: B.in_parts(2))(B)
