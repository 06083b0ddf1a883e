"""What arrives through delays: a network in a scan against a ring buffer, and the edges of histories."""

import functools
import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from implemented import backends
from jax.test_util import check_grads

from event_ops import CSR, csr_event_arrivals, csr_event_deliver, pack_events, read_slot, spike_compact

NEURONS, SLOTS, STEPS, SYNAPSES = 37, 5, 23, 300
SHAPE = (NEURONS, NEURONS)
RNG = np.random.default_rng(3)
PRE, POST = RNG.integers(0, NEURONS, (2, SYNAPSES))
DELAYS, WEIGHTS = RNG.integers(1, SLOTS, SYNAPSES), np.round(RNG.normal(1, 2, SYNAPSES)).astype("f")
STIMULI = RNG.random((STEPS, NEURONS)) < 0.1
BY_DELAY = CSR.from_coo(PRE * SLOTS + DELAYS, POST, WEIGHTS, shape=(NEURONS * SLOTS, NEURONS))
STRUCTURE = BY_DELAY.indices, BY_DELAY.indptr


def steps_from(first):
    # From the last start the number of the step overflows its int32; until then any will do.
    return first + np.arange(9 if first > 0 else STEPS)


@functools.cache
def by_ring_buffer(first):
    """The spikes of the same network by `csr_event_deliver`; weights are whole, so sums are exact."""
    order = np.argsort(PRE, kind="stable")
    indptr = np.searchsorted(PRE[order], np.arange(NEURONS + 1))
    synapses = WEIGHTS[order], POST[order], indptr, DELAYS[order]

    def step(buffer, now):
        t, stimulus = now
        arrived, buffer = read_slot(buffer, t)
        spikes = stimulus | (arrived > 4)
        return csr_event_deliver(buffer, *synapses, spikes, t, shape=SHAPE), spikes

    steps = steps_from(first)
    inputs = jnp.asarray(steps, jnp.int32), jnp.asarray(STIMULI[: len(steps)])
    return np.asarray(jax.lax.scan(step, jnp.zeros((SLOTS, NEURONS)), inputs)[1])


@pytest.mark.slow_cases("numba_cpu")
@backends("csr_event_arrivals")
@pytest.mark.parametrize(
    ("encoding", "first"),
    [("flags", 0), ("bits", 0), ("ids", 0), ("float", -2), ("bits", 2**31 - 9), ("ids", 2**31 - 9)],
)
def test_a_network_in_a_scan_is_that_of_a_ring_buffer(backend, encoding, first):
    steps = steps_from(first)
    words = (NEURONS + 31) // 32
    history = {
        "flags": jnp.zeros((SLOTS, NEURONS), bool),
        "float": jnp.zeros((SLOTS, NEURONS)),
        "bits": jnp.zeros((SLOTS, words), jnp.uint32),
        "ids": jnp.full((SLOTS, NEURONS), NEURONS, jnp.int32),
    }[encoding]
    how = {"shape": SHAPE, "encoding": encoding.replace("float", "flags"), "backend": backend}
    rows = {"bits": pack_events, "ids": lambda spikes: spike_compact(spikes)[0]}
    row_of = rows.get(encoding, lambda spikes: spikes.astype(history.dtype))

    def step(history, now):
        t, stimulus = now
        arrived = csr_event_arrivals(history, BY_DELAY.data, *STRUCTURE, t, **how)
        spikes = stimulus | (arrived > 4)
        return history.at[t % SLOTS].set(row_of(spikes)), spikes

    inputs = jnp.asarray(steps, jnp.int32), jnp.asarray(STIMULI[: len(steps)])
    spikes = jax.lax.scan(step, history, inputs)[1]
    expected = by_ring_buffer(first)
    assert expected.sum() > STIMULI[: len(steps)].sum()  # some spikes are answers to others
    np.testing.assert_array_equal(spikes, expected)


@backends("csr_event_arrivals")
def test_a_delay_of_zero_arrives_at_once_where_the_history_is_written_first(backend):
    history = np.zeros((3, 1), bool)
    history[7 % 3] = True
    synapse = 2.0, np.array([0]), np.array([0, 1, 1, 1])
    arrived = csr_event_arrivals(history, *synapse, 7, shape=(1, 1), backend=backend)
    assert arrived.tolist() == [2.0]


@pytest.mark.slow_cases("numba_cpu")
@backends("csr_event_arrivals")
def test_bits_behind_the_last_neuron_are_nobodys(backend):
    history = np.full((SLOTS, 2), 2**32 - 1, np.uint32)
    arrived = csr_event_arrivals(history, 1.0, *STRUCTURE, 0, shape=SHAPE, encoding="bits", backend=backend)
    np.testing.assert_array_equal(arrived, np.bincount(POST, minlength=NEURONS))


@backends("csr_event_arrivals")
@pytest.mark.parametrize("encoding", ["flags", "bits", "ids"])
def test_everybody_in_every_step(backend, encoding):
    # More events than any list of them has room for at first.
    neurons, slots, columns = 3000, 64, 50
    indices = RNG.integers(0, columns, neurons * slots).astype(np.int32)
    indptr = np.arange(neurons * slots + 1, dtype=np.int32)
    history = np.ones((slots, neurons), bool)
    if encoding == "bits":
        history = jax.vmap(pack_events)(history)
    if encoding == "ids":
        history = np.tile(np.arange(neurons, dtype=np.int32), (slots, 1))
    arrived = csr_event_arrivals(
        history, 1.0, indices, indptr, 7, shape=(neurons, columns), encoding=encoding, backend=backend
    )
    np.testing.assert_array_equal(arrived, np.bincount(indices, minlength=columns))


@backends("csr_event_arrivals")
def test_padding_is_nobody(backend):
    # As far as the integer goes in both directions, and no room at all.
    how = {"shape": (2, 3), "encoding": "ids", "initial": np.float32([1, 2, 3]), "backend": backend}
    synapses = np.float32([5, 6]), np.array([0, 2]), np.array([0, 1, 1, 1, 2])
    for padding in (2, -1, 2**31 - 1, -(2**31)):
        history = np.array([[1, padding], [padding, padding]], np.int32)
        # Neuron 1 spiked one step ago: its row 1 * 2 + 1 has the weight 6.
        assert csr_event_arrivals(history, *synapses, 1, **how).tolist() == [1, 2, 9]
    assert csr_event_arrivals(np.zeros((2, 0), np.int32), *synapses, 1, **how).tolist() == [1, 2, 3]


@pytest.mark.slow_cases("numba_cpu")
@backends("csr_event_arrivals")
def test_sums_begin_with_what_is_given(backend):
    with jax.enable_x64(True):
        history = jnp.asarray(RNG.random((SLOTS, NEURONS)) < 0.5)

        def arrived(first, data):
            found = csr_event_arrivals(
                history, data, *STRUCTURE, 3, shape=SHAPE, initial=first, backend=backend
            )
            return jnp.sin(found / 9)

        weights = jnp.asarray(BY_DELAY.data, float)
        check_grads(arrived, (jnp.linspace(-1, 1, NEURONS), weights), order=2)
        check_grads(arrived, (jnp.asarray(0.5), weights), order=1)
        each = jnp.stack([jnp.zeros(NEURONS), jnp.linspace(-1, 1, NEURONS)])
        together = jax.vmap(arrived, (0, None))(each, weights)
        np.testing.assert_allclose(together, [arrived(first, weights) for first in each], rtol=1e-12)


@backends("csr_event_arrivals")
@pytest.mark.parametrize("size", [8, 40_000])
def test_a_broken_indptr_stays_inside_the_arrays(backend, size):
    # Its result is not defined, memory outside the arrays is neither read nor written.
    lowest, highest = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    indptr = np.array([lowest, highest, -5, 3, highest], np.int32)
    indices = np.full(size, 2, np.int32)
    y = csr_event_arrivals(
        np.ones((2, 2), bool), np.ones(size, "f"), indices, indptr, 0, shape=(2, 4), backend=backend
    )
    assert (np.abs(y) <= 4 * size).all()


@pytest.mark.slow
@backends("csr_event_arrivals")
def test_derivatives_through_a_scan_of_delays(backend):
    with jax.enable_x64(True):

        def total(data, strength):
            def step(history, now):
                t, stimulus = now
                arrived = csr_event_arrivals(history, data, *STRUCTURE, t, shape=SHAPE, backend=backend)
                spikes = strength * stimulus + jnp.tanh(arrived)
                return history.at[t % SLOTS].set(spikes), jnp.sum(arrived**2)

            start = jnp.zeros((SLOTS, NEURONS))
            return jax.lax.scan(step, start, (jnp.arange(7), jnp.asarray(STIMULI[:7], float)))[1].sum()

        weights = jnp.asarray(BY_DELAY.data, float) / 9
        check_grads(total, (weights, jnp.linspace(0.5, 1, NEURONS)), order=1, rtol=1e-4)


@pytest.mark.slow
def test_a_loop_over_time_steps_does_not_copy_the_history():
    def step(t, history):
        arrived = csr_event_arrivals(history, BY_DELAY.data, *STRUCTURE, t, shape=SHAPE, backend="numba_cpu")
        return history.at[t % SLOTS].set(arrived > 4)

    loop = jax.jit(lambda history: jax.lax.fori_loop(0, 9, step, history), donate_argnums=0)
    text = loop.lower(jnp.zeros((SLOTS, NEURONS), bool)).compile().as_text()
    assert " custom-call(" in text
    copies = [line for line in text.splitlines() if f"pred[{SLOTS},{NEURONS}]" in line and " copy(" in line]
    assert copies == []


@pytest.mark.slow
def test_all_threads_add_up_what_one_does(monkeypatch):
    numba = pytest.importorskip("numba", reason="the kernel is Numba's")
    kernels = importlib.import_module("event_ops.kernels.numba_cpu.arrivals")
    monkeypatch.setattr(kernels, "MIN_ENTRIES_PARALLEL", 0)
    neurons, slots, columns, nse = 40, 64, 900, 200_000
    ends = np.sort(RNG.integers(0, nse + 1, neurons * slots - 1))
    indptr = np.concatenate([[0], ends, [nse]]).astype(np.int32)
    indices, weights = RNG.integers(0, columns, nse), np.round(RNG.normal(0, 9, nse)).astype("f")
    history = RNG.random((slots, neurons)) < 0.5
    parts = history, weights, indices, indptr, 70
    wanted = csr_event_arrivals(*parts, shape=(neurons, columns), backend="reference")
    before = numba.get_num_threads()
    try:
        for threads in sorted({1, before}):
            numba.set_num_threads(threads)
            found = csr_event_arrivals(*parts, shape=(neurons, columns), backend="numba_cpu")
            np.testing.assert_array_equal(found, wanted)  # whole numbers: exact in any order
    finally:
        numba.set_num_threads(before)
