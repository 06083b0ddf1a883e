"""`Network.run` in shares: the bits of one thread, also where shares outnumber threads, or only one comes."""

from pathlib import Path

import child_python
import jax
import jax.numpy as jnp
import network_in_shares
import numpy as np
import pytest
from numba import prange

from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.phases import done, new_phases, take
from event_ops.kernels.numba_cpu.ranges import add_rows_to_range, add_words_to_range
from event_ops.network import loops, numba_cpu, shares
from event_ops.network.plan import plan_of
from ffi_bridge import numba_kernel
from ffi_bridge.identity.fingerprint import fingerprint


@njit
def take_shares(worker, phases, count, turns, order):
    ticket, patience = take(phases, count, count * turns, worker, 0)
    while ticket < count * turns:
        order[ticket] = phases[0]
        done(phases)
        ticket, patience = take(phases, count, count * turns, worker, patience)


@njit(parallel=True)
def phases_in_order(turns, order):
    """Write for each share how many were done when it was taken."""
    number = np.int64(turns[()])
    count = order.size // number
    phases = new_phases(count)
    for worker in prange(count):
        take_shares(worker, phases, count, number, order)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_phase_begins_when_the_one_before_is_over(count):
    turns = 300
    out = jax.ShapeDtypeStruct((count * turns,), jnp.int32)
    for _ in range(5):
        order = np.asarray(numba_kernel(phases_in_order, out)(np.int32(turns))).reshape(turns, count)
        begin = count * np.arange(turns)[:, None]
        assert ((begin <= order) & (order < begin + count)).all()


@njit
def bounds(starts, out):
    out[:] = loops.bounds_of(starts, out.size - 1)


@pytest.mark.parametrize(
    ("starts", "count", "expected"),
    [
        ([0, 150], 3, [0, 48, 96, 150]),
        ([0, 50, 100, 150], 3, [0, 50, 100, 150]),
        ([0, 75, 150], 3, [0, 48, 91, 150]),
        ([0, 5], 3, [0, 0, 0, 5]),
        ([0, 38, 76, 114, 150], 2, [0, 76, 150]),
    ],
)
def test_shares_begin_where_parts_do_if_they_can(starts, count, expected):
    out = jax.ShapeDtypeStruct((count + 1,), jnp.int32)
    assert numba_kernel(bounds, out)(np.int32(starts)).tolist() == expected


@njit
def rows_in_range(data, indices, indptr, ids, ends, initial, y):
    add_rows_to_range(data, indices, indptr, ids, y, np.int64(ends[0]), np.int64(ends[1]))


@njit
def words_in_range(entries, indptr, scale, starts, ids, ends, initial, y):
    matrix = entries, indptr, scale, starts
    add_words_to_range(matrix, 0, ids, ids, np.uintp(1), y, np.int64(ends[0]), np.int64(ends[1]))


@pytest.mark.parametrize("kind", ["int32", "uint32", "words", "narrow"])
def test_rows_are_added_to_a_range_in_whatever_order_their_entries_are(kind):
    rng = np.random.default_rng(1)
    rows, columns, low, high = 40, 61, 17, 45
    counts = rng.integers(0, 40, rows)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    # Some are out of range, and left out as everywhere.
    indices = rng.integers(0, 64, indptr[-1])
    values = rng.integers(-9, 9, indptr[-1]) if kind != "narrow" else np.ones(indptr[-1])
    ids, ends = rng.permutation(rows)[:20].astype(np.uint32), np.int32([low, high])
    expected = np.zeros(columns)
    for i in ids:
        for k in range(indptr[i], indptr[i + 1]):
            if low <= indices[k] < high:
                expected[indices[k]] += values[k]
    begin = jnp.zeros(columns, jnp.float32)
    if kind in ("int32", "uint32"):
        run = numba_kernel(rows_in_range, begin, input_output_aliases={5: 0})
        y = run(values.astype(np.float32), indices.astype(kind), indptr, ids, ends, begin)
    else:
        words = indices.astype(np.uint16)
        if kind == "words":
            words = (values << 6 | indices).astype(np.int32).view(np.uint32)
        run = numba_kernel(words_in_range, begin, input_output_aliases={6: 0})
        y = run(words, indptr[None], np.float32(1), np.int32([0, columns]), ids, ends, begin)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("threads", "counts"),
    # Two threads and the one that calls are there: of five shares some take two, as the only one takes all.
    [(5, ("2", "3", "5")), pytest.param(1, ("3",), marks=pytest.mark.slow)],
)
def test_a_run_has_the_same_bits_in_however_many_shares(threads, counts):
    program = Path(__file__).with_name("network_in_shares.py")
    child_python.output(program, *counts, NUMBA_NUM_THREADS=str(threads))


def planned(declared):
    population = {"V_m": 0.0, "refractory": 0.0}
    return plan_of(declared, declared.state({"E": population | {"I_syn": 0.0}, "I": population}), {}, 1)


def test_small_networks_have_one_share():
    declared = network_in_shares.network()
    assert shares.most_shares(declared, planned(declared)[0]) == 1


def test_a_run_in_shares_has_a_name_that_holds_in_every_process():
    """Without one, each process would compile it anew, for half a minute."""
    plan, arrays = planned(network_in_shares.network())
    assert fingerprint(numba_cpu.kernel(plan, tuple(arrays), True)).portable
