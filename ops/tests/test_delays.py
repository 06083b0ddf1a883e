"""Delays: a network in a scan against a ring buffer by hand, what is refused, and what is done in place."""

import importlib
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from implemented import backends
from jax.test_util import check_grads

from event_ops import csr_event_deliver, read_slot
from event_ops.cases.draw import Draw
from event_ops.kernels.oracle.arrivals import csr_event_deliver as oracle

NEURONS, SLOTS, STEPS = 12, 5, 23
OPTIONS = {"shape": (NEURONS, NEURONS)}


def network():
    rng = np.random.default_rng(3)
    data, indices, indptr = Draw(rng, "float32", "int32").csr(OPTIONS["shape"], 70)
    delays = rng.integers(1, SLOTS, 70).astype(np.uint8)
    return np.round(data * 4), indices, indptr, delays, rng.random((STEPS, NEURONS)) < 0.15


def by_hand(data, indices, indptr, delays, stimuli):
    """Pending input as a list of vectors, of which the first arrives now."""
    pending = [np.zeros(NEURONS, "f") for _ in range(SLOTS)]
    spikes = []
    for stimulus in stimuli:
        spikes.append(stimulus | (pending.pop(0) > 4))
        pending.append(np.zeros(NEURONS, "f"))
        for i in np.flatnonzero(spikes[-1]):
            for k in range(indptr[i], indptr[i + 1]):
                pending[delays[k] - 1][indices[k]] += data[k]
    return np.array(spikes)


@backends("csr_event_deliver")
@pytest.mark.parametrize("first", [0, -2, 2**31 - 9])
def test_a_delayed_network_in_a_scan_is_one_by_hand(backend, first):
    # From the third start the number of the step overflows its int32; until then any will do.
    *synapses, stimuli = network()
    steps = first + np.arange(9 if first > 0 else STEPS)

    def step(buffer, now):
        t, stimulus = now
        arrived, buffer = read_slot(buffer, t, backend=backend)
        spikes = stimulus | (arrived > 4)
        return csr_event_deliver(buffer, *synapses, spikes, t, **OPTIONS, backend=backend), spikes

    inputs = jnp.asarray(steps, jnp.int32), jnp.asarray(stimuli[: len(steps)])
    _, spikes = jax.lax.scan(step, jnp.zeros((SLOTS, NEURONS)), inputs)
    expected = by_hand(*synapses, stimuli)[: len(steps)]
    assert expected.sum() > stimuli[: len(steps)].sum()  # some spikes are answers to others
    np.testing.assert_array_equal(spikes, expected)


@pytest.mark.slow_cases("numba_cpu")
@backends("csr_event_deliver")
def test_a_delay_of_zero_arrives_at_once_where_slots_are_read_after_delivery(backend):
    synapse = 2.0, np.array([0]), np.array([0, 1]), np.array([0])
    buffer = csr_event_deliver(
        np.zeros((3, 1), "f"), *synapse, np.array([True]), 7, shape=(1, 1), backend=backend
    )
    arrivals, buffer = read_slot(buffer, 7, backend=backend)
    assert arrivals.tolist() == [2.0]
    assert not buffer.any()


@pytest.mark.slow_cases("numba_cpu")
@backends("csr_event_deliver")
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint32"])
def test_a_traced_delay_out_of_range_adds_nothing(backend, dtype):
    data, indices, indptr, delays, _ = network()
    delays, ends = delays.astype(dtype), np.iinfo(dtype)
    delays[::4], delays[1::4] = SLOTS, ends.max
    delays[2::9] = ends.min  # of unsigned ones that is 0, which is a delay
    args = np.ones((SLOTS, NEURONS), "f"), data, indices, indptr, delays, np.ones(NEURONS, bool), np.int32(3)
    deliver = jax.jit(lambda *args: csr_event_deliver(*args, **OPTIONS, backend=backend))
    np.testing.assert_array_equal(deliver(*args), oracle(*args, **OPTIONS))


@pytest.mark.parametrize("delay", [SLOTS, -1])
@pytest.mark.parametrize("jit", [False, True])
def test_a_known_delay_out_of_range_is_refused_when_traced(delay, jit):
    data, indices, indptr, delays, stimuli = network()
    wrong = delays.astype(np.int32)
    wrong[7] = delay
    wrong = jnp.asarray(wrong)
    buffer = jnp.zeros((SLOTS, NEURONS))

    def deliver(spikes):
        return csr_event_deliver(buffer, data, indices, indptr, wrong, spikes, 0, **OPTIONS)

    with pytest.raises(ValueError, match=rf"delays\[7\] is {delay}, .*0 to {SLOTS - 1}, for {SLOTS} slots"):
        (jax.jit(deliver) if jit else deliver)(stimuli[0])
    with pytest.raises(ValueError, match=f"delays is {delay}, "):
        csr_event_deliver(buffer, data, indices, indptr, delay, stimuli[0], 0, **OPTIONS)


@backends("csr_event_deliver")
@pytest.mark.parametrize("size", [8, 40_000])
def test_a_broken_indptr_stays_inside_the_arrays(backend, size):
    # Its result is not defined, memory outside the arrays is neither read nor written.
    lowest, highest = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    indptr = np.array([lowest, highest, -5, 3, highest], np.int32)
    indices, delays = np.full(size, 2, np.int32), np.full(size, 1, np.int32)
    y = csr_event_deliver(
        np.zeros((2, 4), "f"), np.ones(size, "f"), indices, indptr, delays, np.ones(4, bool), 0,
        shape=(4, 4), backend=backend,
    )  # fmt: skip
    assert (np.abs(y) <= 4 * size).all()


@pytest.mark.slow
@backends("csr_event_deliver")
def test_derivatives_through_a_scan_of_delays(backend):
    data, indices, indptr, delays, stimuli = network()
    with jax.enable_x64(True):

        def total(data, strength):
            def step(buffer, now):
                t, stimulus = now
                arrived, buffer = read_slot(buffer, t, backend=backend)
                spikes = strength * stimulus + jnp.tanh(arrived)
                buffer = csr_event_deliver(
                    buffer, data, indices, indptr, delays, spikes, t, **OPTIONS, backend=backend
                )
                return buffer, jnp.sum(arrived**2)

            start = jnp.zeros((SLOTS, NEURONS))
            return jax.lax.scan(step, start, (jnp.arange(7), jnp.asarray(stimuli[:7], float)))[1].sum()

        check_grads(total, (jnp.asarray(data, float) / 9, jnp.linspace(0.5, 1, NEURONS)), order=1, rtol=1e-4)


def test_a_derivative_keeps_nothing_per_entry_and_step():
    # Where an entry adds follows from the step's number: none of it waits for the backward pass.
    data, indices, indptr, delays, stimuli = network()

    def last(data):
        def step(buffer, now):
            t, spikes = now
            arrived, buffer = read_slot(buffer, t, backend="numba_cpu")
            return csr_event_deliver(
                buffer, data, indices, indptr, delays, spikes, t, **OPTIONS, backend="numba_cpu"
            ), arrived

        inputs = jnp.arange(STEPS), jnp.asarray(stimuli)
        return jnp.sum(jax.lax.scan(step, jnp.zeros((SLOTS, NEURONS)), inputs)[1])

    _, pull = jax.vjp(last, jnp.asarray(data))
    assert not [x.shape for x in jax.tree.leaves(pull) if x.shape == (STEPS, *data.shape)]


def test_a_buffer_too_large_for_int32_has_no_derivative_without_x64():
    spec = jax.ShapeDtypeStruct((70_000, 70_000), jnp.float32)
    indices, indptr = jnp.zeros(1, int), jnp.array([0, 1])

    def total(weight, buffer):
        y = csr_event_deliver(buffer, weight, indices, indptr, 1, jnp.ones(1), 0, shape=(1, 70_000))
        return jnp.sum(y)

    with pytest.raises(ValueError, match=r"more than int32 can count.*jax_enable_x64"):
        jax.eval_shape(jax.grad(total), jax.ShapeDtypeStruct((1,), jnp.float32), spec)


def test_a_loop_over_time_steps_does_not_copy_the_buffer():
    data, indices, indptr, delays, stimuli = network()
    stimulus = jnp.asarray(stimuli[0])

    def step(t, buffer):
        arrived, buffer = read_slot(buffer, t, backend="numba_cpu")
        spikes = stimulus | (arrived > 4)
        return csr_event_deliver(
            buffer, data, indices, indptr, delays, spikes, t, **OPTIONS, backend="numba_cpu"
        )

    loop = jax.jit(lambda buffer: jax.lax.fori_loop(0, 9, step, buffer), donate_argnums=0)
    text = loop.lower(jnp.zeros((SLOTS, NEURONS))).compile().as_text()
    assert " custom-call(" in text
    copies = [line for line in text.splitlines() if f"f32[{SLOTS},{NEURONS}]" in line and " copy(" in line]
    assert copies == []


@pytest.mark.slow
@pytest.mark.parametrize("order", ["all", "most", "none"])
@pytest.mark.parametrize("delays", ["uint8", "int32"])
def test_in_parts_by_slot_is_row_by_row(monkeypatch, order, delays):
    numba = pytest.importorskip("numba", reason="the kernel is Numba's")
    kernels = importlib.import_module("event_ops.kernels.numba_cpu.arrivals")
    monkeypatch.setattr(kernels, "MIN_ENTRIES_PARALLEL", 0)
    rng, shape, slots, nse = np.random.default_rng(0), (41, 900), 64, 45_000
    data, indices, indptr = Draw(rng, "float32", "int32").csr(shape, nse)
    steps = rng.integers(0, slots, nse)
    if order != "none":
        steps = steps[np.lexsort((steps, np.repeat(np.arange(shape[0]), np.diff(indptr))))]
    if order == "most":  # rows begin in order, then something else comes
        for low, high in itertools.pairwise(indptr.tolist()):
            steps[low + 300 : high] = rng.permutation(steps[low + 300 : high])
    parts = np.zeros((slots, shape[1]), "f"), data, indices, indptr, steps.astype(delays)
    spikes = np.arange(shape[0]) % 20 != 0
    wanted = csr_event_deliver(*parts, spikes, 70, shape=shape, backend="reference")
    before = numba.get_num_threads()
    try:
        for threads in sorted({1, before}):
            numba.set_num_threads(threads)
            found = csr_event_deliver(*parts, spikes, 70, shape=shape, backend="numba_cpu")
            np.testing.assert_array_equal(found, wanted)  # to the bit: the sums have one order
    finally:
        numba.set_num_threads(before)


@pytest.mark.parametrize(
    "number", [2**32 + 3, 2**31 + 1, -(2**31) - 4, np.int64(2**33 + 7), np.uint64(2**63 + 9)]
)
def test_a_number_of_a_step_beyond_32_bits_has_its_slot(number):
    data, indices, indptr, delays, stimuli = network()
    buffer = jnp.arange(SLOTS * NEURONS, dtype=jnp.float32).reshape(SLOTS, NEURONS)
    slot = int(number) % SLOTS
    for given, expected in zip(read_slot(buffer, number), read_slot(buffer, slot), strict=True):
        np.testing.assert_array_equal(given, expected)
    deliver = [csr_event_deliver(buffer, data, indices, indptr, delays, stimuli[0], t, **OPTIONS)
               for t in (number, slot)]  # fmt: skip
    np.testing.assert_array_equal(*deliver)


def test_a_slot_that_is_carried_never_loses_its_place():
    # A counter in int32 would be at -2**31 in the step behind 2**31 - 1, which is another slot of 5.
    *synapses, stimuli = network()

    def step(carry, stimulus):
        slot, buffer = carry
        arrived, buffer = read_slot(buffer, slot)
        spikes = stimulus | (arrived > 4)
        buffer = csr_event_deliver(buffer, *synapses, spikes, slot, **OPTIONS)
        return ((slot + 1) % SLOTS, buffer), spikes

    start = jnp.int32((2**31 - 9) % SLOTS), jnp.zeros((SLOTS, NEURONS))
    _, spikes = jax.lax.scan(step, start, jnp.asarray(stimuli))
    np.testing.assert_array_equal(spikes, by_hand(*synapses, stimuli))
