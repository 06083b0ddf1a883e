"""The emulated GPU: barriers, shared memory, atomics as on a real one, and errors that say where."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
pytest.importorskip("ptx_on_cpu", reason="ptx-on-cpu is not installed")

from numba import cuda

from ffi_bridge import numba_cuda_callable, numba_cuda_kernel
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.numba_cuda import by_llvm
from ptx_on_cpu import Checks, LaunchError


def test_every_thread_has_its_place(launch):
    @cuda.jit
    def kernel(seen):
        x, y, z = cuda.grid(3)
        seen[z, y, x] += 1000 * cuda.laneid + 100 * cuda.blockIdx.y + cuda.gridsize(1)

    seen = np.zeros((2, 6, 2), np.int32)
    launch(kernel, seen, block=(2, 2, 1), grid=(1, 3, 2))
    _, y, x = np.indices(seen.shape)
    np.testing.assert_array_equal(seen, 1000 * (x + 2 * (y % 2)) + 100 * (y // 2) + 2)


def test_a_barrier_waits_for_all_and_not_for_those_that_have_ended(launch):
    @cuda.jit
    def kernel(turn, before, after):
        t = cuda.threadIdx.x
        if t == 3:
            return
        before[t] = cuda.atomic.add(turn, 0, 1)
        cuda.syncthreads()
        after[t] = cuda.atomic.add(turn, 0, 1)

    turn, before, after = np.zeros(1, np.int32), np.zeros(3, np.int32), np.zeros(3, np.int32)
    launch(kernel, turn, before, after)
    assert (sorted(before), sorted(after)) == ([0, 1, 2], [3, 4, 5])


def test_a_kernel_whose_ptx_with_line_numbers_lost_a_label_runs_without_them(launch, monkeypatch):
    library = by_llvm.codegen.CUDACodeLibrary
    whole = library.get_asm_str

    def without_a_label(self, cc=None):
        return re.sub(r"^\s*\.loc[^\n]*", "\tbra.uni $L__BB9_9;", whole(self, cc), flags=re.MULTILINE)

    @cuda.jit
    def kernel(y):
        y[cuda.threadIdx.x] = 7

    monkeypatch.setattr(library, "get_asm_str", without_a_label)
    y = np.zeros(4, np.int32)
    launch(kernel, y)
    assert y.tolist() == [7] * 4


def test_counts_at_a_barrier(launch):
    @cuda.jit
    def kernel(found):
        t = cuda.threadIdx.x
        found[t, 0] = cuda.syncthreads_count(int(t > 1))
        found[t, 1] = cuda.syncthreads_and(int(t < 4))
        found[t, 2] = cuda.syncthreads_or(int(t == 9))

    found = np.zeros((4, 3), np.int32)
    launch(kernel, found)
    assert [(count, bool(every), bool(some)) for count, every, some in found] == [(2, True, False)] * 4


@cuda.jit
def sum_in_shared_memory(sums):
    shared = cuda.shared.array(0, np.float32)
    shared[cuda.threadIdx.x] = cuda.grid(1)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        for i in range(shared.size):
            sums[cuda.blockIdx.x] += shared[i]


def test_shared_memory_belongs_to_a_block(launch):
    sums = np.zeros(2, np.float32)
    launch(sum_in_shared_memory, sums, grid=(2, 1, 1), shared=16)
    assert list(sums) == [6, 22]


def test_what_nobody_has_written_is_found_if_asked_for(gpu, launch, monkeypatch):
    sums = np.zeros(2, np.float32)
    launch(sum_in_shared_memory, sums, grid=(2, 1, 1), shared=32)
    monkeypatch.setattr(gpu, "checks", Checks(initialised=True))
    launch(sum_in_shared_memory, sums, grid=(2, 1, 1), shared=16)
    with pytest.raises(LaunchError, match=r"byte 16 of shared memory.*: nobody has written"):
        launch(sum_in_shared_memory, sums, grid=(2, 1, 1), shared=32)


def test_an_output_that_is_read_first_is_found_if_asked_for(gpu, monkeypatch):
    @cuda.jit
    def accumulates(x, out):
        out[cuda.grid(1)] += x[cuda.grid(1)]

    x, shape = jnp.ones(4), jax.ShapeDtypeStruct((4,), jnp.float32)
    monkeypatch.setattr(gpu, "checks", Checks(initialised=True))
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"argument 'out' .*: nobody has written"):
        numba_cuda_kernel(accumulates, shape, launch_dims=4)(x)
    aliased = numba_cuda_kernel(accumulates, shape, launch_dims=4, input_output_aliases={0: 0})
    np.testing.assert_array_equal(aliased(x), 2 * x)


def test_what_one_launch_of_a_call_writes_the_next_may_read(gpu, monkeypatch):
    @cuda.jit
    def clear(out):
        out[cuda.grid(1)] = 0

    @cuda.jit
    def add(x, out):
        cuda.atomic.add(out, cuda.grid(1), x[cuda.grid(1)])

    def clear_and_add(cleared):
        def launches(x, out, stream):
            clear[1, cleared, stream](out)
            add[1, 4, stream](x, out)

        return numba_cuda_callable(launches, jax.ShapeDtypeStruct((4,), jnp.float32))

    monkeypatch.setattr(gpu, "checks", Checks(initialised=True))
    for _ in range(2):
        np.testing.assert_array_equal(clear_and_add(4)(jnp.ones(4)), np.ones(4))
        with pytest.raises(
            jax.errors.JaxRuntimeError, match=r"byte 12 of argument 'out0' .* nobody has written"
        ):
            clear_and_add(3)(jnp.ones(4))


def test_atomics_give_the_old_value(launch):
    @cuda.jit
    def kernel(array, old):
        i = cuda.threadIdx.x
        old[i, 0] = cuda.atomic.add(array, 0, 2)
        old[i, 1] = cuda.atomic.sub(array, 1, 2)
        old[i, 2] = cuda.atomic.max(array, 2, 12)
        old[i, 3] = cuda.atomic.min(array, 3, 3)
        old[i, 4] = cuda.atomic.and_(array, 4, 2)
        old[i, 5] = cuda.atomic.or_(array, 5, 5)
        old[i, 6] = cuda.atomic.xor(array, 6, 1)
        old[i, 7] = cuda.atomic.exch(array, 7, 7)

    array, old = np.full(8, 10, np.uint32), np.zeros((4, 8), np.uint32)
    launch(kernel, array, old)
    assert (old == 10).any(axis=0).all()
    assert list(array) == [18, 2, 12, 3, 2, 15, 10, 7]


def test_compare_and_swap(launch):
    @cuda.jit
    def kernel(array, old):
        old[cuda.threadIdx.x] = cuda.atomic.cas(array, 0, 5, 6)

    array, old = np.array([5], np.int32), np.zeros(2, np.int32)
    launch(kernel, array, old, block=(2, 1, 1))
    assert (sorted(old), array[0]) == ([5, 6], 6)


def test_a_spin_lock_ends(launch):
    @cuda.jit
    def kernel(lock, count):
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        count[0] += 1
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)

    lock, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
    launch(kernel, lock, count, block=(64, 1, 1), grid=(4, 1, 1))
    assert count[0] == 256


def test_an_error_names_thread_argument_and_line(gpu):
    @cuda.jit
    def beyond(x, out):
        i = cuda.grid(1)
        out[i] = 0
        out[i] = x[i + 1]

    line = beyond.py_func.__code__.co_firstlineno + 4
    f = numba_cuda_kernel(beyond, jax.ShapeDtypeStruct((6,), jnp.float32), grid=2, block=3)
    where = rf"at byte 24 of argument 'x' \(float32\[6\]\), which has 24\n  at test_emulated.py:{line}:"
    expected = r"thread \(2, 0, 0\) of block \(1, 0, 0\) reads 4 bytes out of bounds, " + where
    with pytest.raises(jax.errors.JaxRuntimeError, match=expected):
        f(jnp.ones(6))


def test_an_element_of_a_batch_is_within_its_bounds_where_it_is_a_launch_of_its_own(gpu):
    @cuda.jit
    def beyond(x, out):
        out[cuda.grid(3)[2]] = x[x.size]

    f = numba_cuda_kernel(beyond, jax.ShapeDtypeStruct((1,), jnp.float32), launch_dims=(1, 1, 1))
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"byte 8 of argument 'x' \(float32\[2\]\)"):
        jax.vmap(f)(jnp.ones((3, 2)))


def test_the_order_of_threads_depends_on_the_seed_and_on_the_launch(gpu, launch, monkeypatch):
    @cuda.jit
    def kernel(turn, order):
        order[cuda.atomic.add(turn, 0, 1)] = cuda.threadIdx.x

    def order():
        turn, found = np.zeros(1, np.int32), np.zeros(64, np.int32)
        launch(kernel, turn, found, block=(64, 1, 1))
        assert sorted(found) == list(range(64))
        return tuple(found)

    assert order() == order() == tuple(range(64))
    monkeypatch.setattr(gpu, "seed", 0)
    assert len({order() for _ in range(4)}) == 4


def test_a_read_only_array_and_a_view(launch):
    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        y[i] = 10 * x[i]

    x, y = np.arange(8), np.zeros((4, 2), np.int64)
    x.flags.writeable = False
    launch(kernel, x[::-2], y[:, 1])
    np.testing.assert_array_equal(y, [[0, 70], [0, 50], [0, 30], [0, 10]])
    with pytest.raises(KernelTypeError, match="read"):
        launch(kernel, y[:, 1], x[::2])


def test_complex_numbers_and_halves(launch):
    @cuda.jit
    def kernel(z, h, y):
        y[0] = h[0] + h[0]
        y[1] = z.imag

    y = np.zeros(2, np.float16)
    launch(kernel, np.complex64(1 + 2j), np.full(1, 1.5, np.float16), y, block=(1, 1, 1))
    assert list(y) == [3, 2]


def test_launches_are_counted_if_asked_for(gpu, launch, monkeypatch):
    sums = np.zeros(2, np.float32)
    launch(sum_in_shared_memory, sums, grid=(2, 1, 1), shared=16)
    assert gpu.runs == []
    monkeypatch.setattr(gpu, "counted", True)
    launch(sum_in_shared_memory, sums, grid=(2, 1, 1), shared=16)
    (run,) = gpu.runs
    gpu.runs.clear()
    assert (run.shared, run.launch.grid, run.launch.counts.blocks) == (16, (2, 1, 1), 2)
    # One thread of each block adds to its sum; all four write to shared memory.
    assert run.launch.counts.wavefronts > 0 and run.launch.counts.compulsory == 2 * 32


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_subnormal_numbers_are_kept_on_threads_of_xla(gpu, dtype):
    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        y[i] = x[i] * y.dtype.type(0.5)

    least = np.finfo(dtype).smallest_normal
    with jax.enable_x64(True):
        x = np.full(4, least)
        y = numba_cuda_kernel(kernel, jax.ShapeDtypeStruct((4,), dtype), grid=1, block=4)(x)
    np.testing.assert_array_equal(y, x / 2)
    assert (np.asarray(y) > 0).all()
