"""Parallel regions run on XLA's threads: every share once, whoever comes to help, and whenever."""

import ctypes

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from frames import CONTEXT, Call, last_address

from ffi_bridge import numba_kernel
from ffi_bridge.abi import OFFSETS, SIZES
from ffi_bridge.targets import HANDLER

REFUSAL = 0xBAD
TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@numba.njit(parallel=True)
def share_of_each(begin, out):
    for i in numba.prange(out.size):
        out[i] += 1 + 10 * numba.get_thread_id() + 100 * numba.get_num_threads()


@numba.njit(parallel=True)
def region_in_share(begin, out):
    for i in numba.prange(out.shape[0]):
        inner(out[i])


@numba.njit(parallel=True)
def inner(row):
    for j in numba.prange(row.size):
        row[j] += 1


@numba.njit(parallel=True)
def total(x, out):
    found = np.float32(0)
    for i in numba.prange(x.size):
        found += x[i]
    out[0] = found


@numba.njit(parallel=True)
def in_chunks(out):
    numba.set_parallel_chunksize(7)
    for i in numba.prange(out.size):
        out[i] = i


@numba.njit(parallel=True)
def chunk_of_each(begin, out):
    with numba.parallel_chunksize(1):
        for i in numba.prange(out.size):
            out[i] += 1 + 10 * numba.get_thread_id() + 100 * numba.get_num_threads()


@numba.njit(parallel=True)
def total_of_chunks(x, out):
    found = 0
    with numba.parallel_chunksize(3):
        for i in numba.prange(x.size):
            found += x[i]
    out[0] = found


def struct(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def adding(kernel, *shape):
    """The kernel that adds to its output, which begins at zero; of the shape."""
    add = numba_kernel(kernel, struct(*shape), input_output_aliases={0: 0})
    return jax.jit(lambda: add(jnp.zeros(shape)))


@pytest.fixture
def two_threads():
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("Numba has one thread here")
    before = numba.get_num_threads()
    numba.set_num_threads(2)
    yield
    numba.set_num_threads(before)


class Pool:
    """What XLA answers a request for help; `help_` is what it does with a task."""

    def __init__(self, call, help_):
        self.asked, self.destroyed, self.help = [], [], help_
        self._functions = {
            "XLA_FFI_ThreadPool_Schedule": HANDLER(self.schedule),
            "XLA_FFI_Error_Destroy": HANDLER(self.destroy),
        }
        for name, function in self._functions.items():
            call.api.put(name, ctypes.cast(function, ctypes.c_void_p).value)

    def schedule(self, address):
        at = OFFSETS["XLA_FFI_ThreadPool_Schedule_Args"]
        size, context, task, data = (ctypes.c_size_t.from_address(address + x).value for x in at.values())
        assert size == SIZES["XLA_FFI_ThreadPool_Schedule_Args"]
        assert context == CONTEXT
        self.asked.append(lambda: TASK(task)(data))
        return self.help(self.asked[-1])

    def destroy(self, address):
        at = OFFSETS["XLA_FFI_Error_Destroy_Args"]
        size, error = (ctypes.c_size_t.from_address(address + x).value for x in at.values())
        assert size == SIZES["XLA_FFI_Error_Destroy_Args"]
        self.destroyed.append(error)
        return 0


def at_once(task):
    task()
    return 0


def later(task):
    return 0


def refused(task):
    return REFUSAL


def run_with(help_, kernel=share_of_each, size=9):
    """The kernel in a frame of our own."""
    adding(kernel, size)()
    out = np.zeros(size, np.float32)
    call = Call([out], [out])
    pool = Pool(call, help_)
    assert call.run(last_address(kernel)) is None
    return out, pool


@pytest.mark.promise(3)
@pytest.mark.parametrize("help_", [at_once, later, refused])
def test_every_share_is_done_once_whoever_helps(two_threads, help_):
    out, pool = run_with(help_)
    np.testing.assert_array_equal(out, 201 + 10 * (np.arange(9) > 4))
    assert len(pool.asked) == 1
    assert pool.destroyed == ([REFUSAL] if help_ is refused else [])


@pytest.mark.promise(3)
def test_who_comes_when_all_is_done_does_nothing(two_threads):
    out, pool = run_with(later)
    before = out.copy()
    pool.asked[0]()  # frees what the threads shared
    np.testing.assert_array_equal(out, before)


def test_one_thread_asks_for_no_help(two_threads):
    numba.set_num_threads(1)
    out, pool = run_with(at_once)
    np.testing.assert_array_equal(out, 101)
    assert not pool.asked


def test_threads_have_numbers_in_xlas_pool_and_out_of_it(two_threads):
    f = adding(share_of_each, 1000)
    expected = 201 + 10 * (np.arange(1000) >= 500)
    for _ in range(100):
        np.testing.assert_array_equal(f(), expected)
    out = np.zeros(1000, np.float32)
    share_of_each(out, out)  # Numba's own pool
    assert set(out) <= {201, 211}
    assert numba.get_thread_id() == 0


def test_a_region_in_a_share(two_threads):
    np.testing.assert_array_equal(adding(region_in_share, 50, 40)(), 1)


def test_a_sum_is_the_same_each_time(two_threads):
    x = np.random.default_rng(0).standard_normal(100_001).astype(np.float32)
    f = jax.jit(numba_kernel(total, struct(1)))
    sums = {float(f(x)[0]) for _ in range(200)}
    assert len(sums) == 1
    assert abs(sums.pop() - x.sum(dtype=np.float64)) < 0.05


def test_chunks_of_the_users_size(two_threads):
    np.testing.assert_array_equal(jax.jit(numba_kernel(in_chunks, struct(1001)))(), np.arange(1001))


def test_the_users_chunk_size_is_put_back(two_threads):
    before = numba.set_parallel_chunksize(5)
    try:
        jax.jit(numba_kernel(in_chunks, struct(1001)))().block_until_ready()
        assert numba.get_parallel_chunksize() == 5
    finally:
        numba.set_parallel_chunksize(before)


@pytest.mark.promise(3)
@pytest.mark.parametrize(("help_", "thread"), [(at_once, 1), (later, 0), (refused, 0)])
def test_every_chunk_is_done_once_by_whoever_is_free(two_threads, help_, thread):
    out, pool = run_with(help_, chunk_of_each)
    np.testing.assert_array_equal(out, 201 + 10 * thread)
    assert len(pool.asked) == 1


def test_chunks_are_added_up_by_thread(two_threads):
    x = np.arange(1001, dtype=np.int32)
    f = jax.jit(numba_kernel(total_of_chunks, jax.ShapeDtypeStruct((1,), np.int32)))
    assert {int(f(x)[0]) for _ in range(200)} == {int(x.sum())}
