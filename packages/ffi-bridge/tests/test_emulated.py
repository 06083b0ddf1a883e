"""The GPU made of Python: places, barriers, shared memory, atomics and warps as on a real one."""

import math
import threading
import time

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from numba import cuda

from ffi_bridge.cuda.driver import use_driver
from ffi_bridge.emulated.block import Block, Dim3, Meeting, run_block
from ffi_bridge.emulated.device import Device
from ffi_bridge.emulated.twin import Twin

ONE = Dim3(1, 1, 1)
FULL = 0xFFFFFFFF


def launch(kernel, *arguments, block=(4, 1, 1), grid=(1, 1, 1), shared=0):
    """Run a function of `cuda` as a kernel, block by block."""
    twin = Twin(kernel)
    extents, blocks = Dim3(*block), Dim3(*grid)
    for index in np.ndindex(*grid):
        run_block(
            Block(Dim3(*index), extents, blocks, shared),
            lambda: twin.function(*arguments),
            together=twin.meets,
        )


def test_every_thread_has_its_place():
    seen = []

    def kernel():
        seen.append((cuda.grid(3), cuda.threadIdx.x, cuda.blockIdx.y, cuda.laneid, cuda.gridsize(1)))

    launch(kernel, block=(2, 2, 1), grid=(1, 3, 2))
    assert len(seen) == len(set(seen)) == 24
    assert max(place for place, *_ in seen) == (1, 5, 1)
    assert {lane for *_, lane, _ in seen} == {0, 1, 2, 3}
    assert {size for *_, size in seen} == {2}


def test_a_barrier_waits_for_all_and_not_for_those_that_have_ended():
    order = []

    def kernel():
        t = cuda.threadIdx.x
        if t == 3:
            return
        order.append(("before", t))
        cuda.syncthreads()
        order.append(("after", t))

    launch(kernel)
    assert [when for when, _ in order] == ["before"] * 3 + ["after"] * 3


def test_counts_at_a_barrier():
    found = []

    def kernel():
        t = cuda.threadIdx.x
        counts = cuda.syncthreads_count(t > 1), cuda.syncthreads_and(t < 4), cuda.syncthreads_or(t == 9)
        found.append(counts)

    launch(kernel)
    assert found == [(2, 1, 0)] * 4


def test_shared_memory_belongs_to_a_block_and_begins_undefined():
    sums = []

    def kernel():
        shared = cuda.shared.array(4, np.float32)
        dynamic = cuda.shared.array(0, np.int16)
        assert math.isnan(shared[cuda.threadIdx.x]) or cuda.blockIdx.x
        cuda.syncthreads()
        shared[cuda.threadIdx.x] = cuda.grid(1)
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            sums.append((float(shared.sum()), dynamic.size))

    launch(kernel, grid=(2, 1, 1), shared=32)
    assert sums == [(6.0, 16), (22.0, 16)]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("add", 2, 18), ("sub", 2, 2), ("max", 12, 12), ("min", 3, 3),
        ("and_", 2, 2), ("or_", 5, 15), ("xor", 1, 10), ("exch", 7, 7),
    ],
)  # fmt: skip
def test_atomics_give_the_old_value(name, value, expected):
    array, first = np.array([10]), []

    def kernel():
        first.append(getattr(cuda.atomic, name)(array, 0, value))

    launch(kernel)
    assert first[0] == 10
    assert array[0] == expected


def test_compare_and_swap():
    array, old = np.array([5]), []

    def kernel():
        old.append(cuda.atomic.cas(array, 0, 5, 6))

    launch(kernel, block=(2, 1, 1))
    assert (old, array[0]) == ([5, 6], 6)


def test_warps_shuffle_and_vote():
    found = {}

    def kernel():
        lane = cuda.laneid
        found[cuda.grid(1)] = (
            cuda.shfl_sync(FULL, lane, 5),
            cuda.shfl_up_sync(FULL, lane, 1),
            cuda.shfl_down_sync(FULL, lane, 1),
            cuda.shfl_xor_sync(FULL, lane, 1),
            cuda.ballot_sync(FULL, lane < 3),
            cuda.all_sync(FULL, lane < 32),
            cuda.any_sync(FULL, lane == 40),
            cuda.match_any_sync(FULL, lane % 2),
        )

    launch(kernel, block=(64, 1, 1))
    odd = 0xAAAAAAAA - 2**32  # an int32
    assert found[0] == (5, 0, 1, 1, 7, True, False, ~odd)
    assert found[33] == (5, 0, 2, 0, 7, True, False, odd)
    assert found[63] == (5, 30, 31, 30, 7, True, False, odd)


def test_votes_are_32_bits_with_a_sign_that_arithmetic_extends_to_64():
    found = []

    def kernel():
        votes = cuda.ballot_sync(FULL, cuda.laneid >= 30)
        wide = votes & votes - 1
        found.append((cuda.popc(votes), cuda.ffs(votes), cuda.popc(wide), cuda.ffs(wide), cuda.clz(votes)))

    launch(kernel, block=(32, 1, 1))
    assert found == [(2, 31, 33, 32, 0)] * 32


def test_some_lanes_of_a_warp_meet():
    found = {}

    def kernel():
        if cuda.laneid < 2:
            found[cuda.laneid] = cuda.ballot_sync(3, True)

    launch(kernel)
    assert found == {0: 3, 1: 3}


def test_lanes_that_have_ended_are_not_waited_for():
    found, ended = {}, threading.Event()

    def kernel():
        lane = cuda.laneid
        if lane == 31:
            ended.set()
            return
        ended.wait()
        time.sleep(0.05)  # the last lane is gone before the others meet
        found[lane] = cuda.any_sync(FULL, lane == 7)

    launch(kernel, block=(32, 1, 1))
    assert found == dict.fromkeys(range(31), True)


def test_bits():
    device = Device()
    assert (device.popc(0b1011), device.ffs(8), device.ffs(0), device.clz(np.uint32(1))) == (3, 4, 0, 31)
    assert (device.clz(np.uint64(1)), device.fma(2, 3, 4), device.selp(0, 1, 2)) == (63, 10, 2)


def test_an_error_of_a_thread_ends_the_block():
    def kernel():
        if cuda.threadIdx.x == 1:
            raise IndexError("beyond")
        cuda.syncthreads()

    with pytest.raises(IndexError, match="beyond"):
        launch(kernel)


def test_what_is_not_emulated_is_an_error():
    def kernel():
        cuda.nanosleep(1)

    with pytest.raises(AttributeError, match="nanosleep"):
        launch(kernel)


def test_a_meeting_goes_on_without_those_that_leave():
    meeting = Meeting([0, 1])
    meeting.leave(1)
    assert meeting.meet(0, "here") == {0: "here"}


def test_the_driver_is_chosen_once(gpu):
    with pytest.raises(RuntimeError, match="choose the driver first"):
        use_driver(gpu)
