"""Launches: parameters, variables that last, orders, waiting for each other, traces."""

import numpy as np
import pytest
from ptx_text import PLACE, kernel, module, parameters

from ptx_on_cpu import Buffer, Checks, LaunchError, Module
from ptx_on_cpu.engine import grid

Y = parameters("y")
NUMBER = kernel(PLACE + "st.global.u32 [%rd2], %r1;", Y)


def launched(text, grid, block, *arguments, checks=None, **options):
    return Module(text).kernel("k", checks).launch(grid, block, arguments, **options)


def test_every_thread_runs_once():
    y = np.full(96, -1, np.int32)
    launched(module(NUMBER), (3,), (32,), y)
    np.testing.assert_array_equal(y, np.arange(96))


def test_arguments_are_checked():
    with pytest.raises(LaunchError, match="takes 1 parameters; 0 are given"):
        launched(module(NUMBER), (1,), (32,))
    with pytest.raises(LaunchError, match="argument 0 has 4 bytes, expected 8"):
        launched(module(NUMBER), (1,), (32,), np.int32(1))
    with pytest.raises(LaunchError, match="at most 1024 threads"):
        launched(module(NUMBER), (1,), (2048,), np.zeros(2048, np.int32))
    with pytest.raises(LaunchError, match="at most 2147483647 blocks"):
        launched(module(NUMBER), (1 << 16, 1 << 15), (32,), np.zeros(32, np.int32))
    with pytest.raises(LaunchError, match="one to three positive"):
        launched(module(NUMBER), (0,), (32,), np.zeros(32, np.int32))


def test_a_pointer_in_bytes_leads_to_its_buffer():
    y = np.zeros(32, np.int32)
    made = Module(module(NUMBER)).kernel("k")
    buffers = made.buffers()
    pointer = buffers.add(Buffer("y", y.ctypes.data, y.nbytes))
    made.launch((1,), (32,), [pointer.to_bytes(8, "little")], buffers=buffers)
    np.testing.assert_array_equal(y, np.arange(32))


def test_an_address_without_a_buffer_is_refused_and_one_that_is_known_is_not():
    y = np.zeros(32, np.int32)
    made = Module(module(NUMBER)).kernel("k")
    address = np.uint64(y.ctypes.data)
    with pytest.raises(LaunchError, match="where no buffer of this launch is"):
        made.launch((1,), (32,), [address])
    buffers = made.buffers()
    buffers.add(Buffer("y", y.ctypes.data, y.nbytes))
    made.launch((1,), (32,), [address], buffers=buffers)
    np.testing.assert_array_equal(y, np.arange(32))


ONE_WRITES_ONE_READS = """
    ld.param.u64 %rd5, [whole];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 st.global.u32 [%rd1], %r2;
    @!%p1 ld.global.u32 %r6, [%rd5];
"""


def test_a_race_is_found_through_two_buffers_that_begin_at_one_address():
    y = np.zeros(64, np.int32)
    text = module(kernel(PLACE + ONE_WRITES_ONE_READS, parameters("y", "whole")))
    made = Module(text).kernel("k", Checks(races=True))
    buffers = made.buffers()
    sizes = {"part": 4, "whole": y.nbytes}
    pointers = [buffers.add(Buffer(name, y.ctypes.data, size)) for name, size in sizes.items()]
    with pytest.raises(LaunchError, match="race at byte 0 of whole"):
        made.launch((1,), (2,), [pointer.to_bytes(8, "little") for pointer in pointers], buffers=buffers)


BEYOND = kernel(PLACE + "st.global.u32 [%rd2+512], %r1;", Y)


def test_checks_take_no_memory_for_blocks_that_have_not_begun():
    y = np.zeros(100, np.int32)
    for checks in (Checks(), Checks(initialised=True, races=True)):
        with pytest.raises(LaunchError, match=r"thread \(0, 0, 0\) of block \(0, 0, 0\) writes 4 bytes out"):
            launched(module(BEYOND), (22121216,), (256,), y, checks=checks)


@pytest.mark.parametrize("seed", [None, 1])
def test_every_block_of_a_large_grid_runs_once(monkeypatch, seed):
    monkeypatch.setattr(grid, "_WINDOW", 100)
    for parallel in (False, True):
        y = np.zeros(32 * 1234, np.int32)
        text = module(
            kernel(PLACE + "ld.global.u32 %r5, [%rd2]; add.u32 %r5, %r5, %r1; st.global.u32 [%rd2], %r5;", Y)
        )
        launched(text, (1234,), (32,), y, seed=seed, parallel=parallel)
        np.testing.assert_array_equal(y, np.arange(y.size))


def test_what_has_no_memory_says_what_needs_it(monkeypatch):
    def no_memory(*sizes):
        raise MemoryError("Unable to allocate 1.32 TiB")

    monkeypatch.setattr("ptx_on_cpu.kernel.Watch", no_memory)
    with pytest.raises(
        LaunchError, match=r"grid of \(3, 1, 1\), .* 1.32 TiB; launch fewer .*Checks\(races=False\)"
    ):
        launched(module(NUMBER), (3,), (32,), np.zeros(96, np.int32), checks=Checks(races=True))


def test_variables_last_from_launch_to_launch():
    count = module(
        ".global .align 4 .u32 counter = 5;",
        kernel(PLACE + "atom.global.add.u32 %r5, [counter], 1; st.global.u32 [%rd2], %r5;", Y),
    )
    y = np.zeros(4, np.uint32)
    made = Module(count).kernel("k")
    for first in (5, 9):
        made.launch((2,), (2,), [y])
        np.testing.assert_array_equal(y, np.arange(first, first + 4))


WHO_IS_FIRST = module(
    ".global .align 4 .u32 counter;",
    kernel(PLACE + "atom.global.add.u32 %r5, [counter], 1; st.global.u32 [%rd2], %r5;", Y),
)


def test_a_seed_is_an_order_of_blocks_and_threads():
    orders = set()
    for seed in (None, 1, 2, 2):
        y = np.zeros(64, np.uint32)
        launched(WHO_IS_FIRST, (4,), (16,), y, seed=seed)
        assert sorted(y) == list(range(64))
        orders.add(tuple(y))
    assert len(orders) == 3 and tuple(range(64)) in orders


LOCK = """
again:
    atom.shared.cas.b32 %r5, [lock], 0, 1;
    setp.ne.u32 %p1, %r5, 0;
    @%p1 bra again;
    ld.shared.u32 %r6, [total];
    add.u32 %r6, %r6, 1;
    st.shared.u32 [total], %r6;
    atom.shared.exch.b32 %r5, [lock], 0;
    bar.sync 0;
    ld.shared.u32 %r6, [total];
    st.global.u32 [%rd2], %r6;
"""
CLEAR = """
    .shared .align 4 .u32 lock;
    .shared .align 4 .u32 total;
    st.shared.u32 [lock], 0;
    st.shared.u32 [total], 0;
    bar.sync 0;
"""


def test_lanes_of_a_warp_take_a_lock_in_turn():
    y = np.zeros(32, np.uint32)
    launched(module(kernel(PLACE + CLEAR + LOCK, Y)), (1,), (32,), y)
    np.testing.assert_array_equal(y, 32)


FLAG = """
    setp.eq.u32 %p1, %r3, 1;
    @%p1 bra set;
wait:
    ld.volatile.global.u32 %r5, [flag];
    setp.eq.u32 %p2, %r5, 0;
    @%p2 bra wait;
    st.global.u32 [%rd2], %r5;
    ret;
set:
    st.volatile.global.u32 [flag], 7;
    st.global.u32 [%rd2], 8;
"""


def test_a_block_may_wait_for_one_that_has_not_begun():
    y = np.zeros(2, np.uint32)
    launched(module(".global .align 4 .u32 flag;", kernel(PLACE + FLAG, Y)), (2,), (1,), y)
    np.testing.assert_array_equal(y, [7, 8])


def test_a_flag_that_nobody_sets_is_an_endless_loop():
    alone = module(".global .align 4 .u32 flag;", kernel(PLACE + FLAG, Y))
    with pytest.raises(LaunchError, match=r"(?s)loops without an end.*1 at"):
        launched(alone, (1,), (1,), np.zeros(1, np.uint32), patience=1 << 16)


def test_threads_that_wait_for_one_that_waits_elsewhere_are_named():
    body = "setp.lt.u32 %p1, %r2, 32; @%p1 bra low; bar.sync 1; ret; low: bar.sync 2, 64;"
    with pytest.raises(LaunchError, match=r"(?s)wait for ever.*32 at .*bar\.sync"):
        launched(module(kernel(PLACE + body, Y)), (1,), (64,), np.zeros(64, np.uint32))


def test_the_whole_grid_may_meet():
    body = """
    atom.global.add.u32 %r5, [counter], 1;
    { .param .b64 h; .param .b32 n; .param .b32 e;
    call.uni (h), cudaCGGetIntrinsicHandle, (n);
    call.uni (e), cudaCGSynchronizeGrid, (h, n); }
    ld.global.u32 %r6, [counter];
    st.global.u32 [%rd2], %r6;
    """
    y = np.zeros(12, np.uint32)
    launched(module(".global .align 4 .u32 counter;", kernel(PLACE + body, Y)), (3,), (4,), y)
    np.testing.assert_array_equal(y, 12)


def test_reads_of_what_nobody_wrote_are_found_on_demand():
    body = PLACE + ".shared .align 4 .b8 tile[128];\n ld.shared.u32 %r5, [tile]; st.global.u32 [%rd2], %r5;"
    y = np.zeros(1, np.uint32)
    launched(module(kernel(body, Y)), (1,), (1,), y)
    with pytest.raises(LaunchError, match=r"byte 0 of shared memory.*nobody has written"):
        launched(module(kernel(body, Y)), (1,), (1,), y, checks=Checks(initialised=True))


def test_traces_pair_lanes_by_the_turns_of_their_loops():
    """Each lane goes round as often as its number: in turn i, the lanes above i are together."""
    body = (
        PLACE
        + """
    mov.u32 %r5, 0;
turn:
    setp.ge.u32 %p1, %r5, %r2;
    @%p1 bra out;
    ld.global.u32 %r6, [%rd1];
    add.u32 %r5, %r5, 1;
    bra turn;
out:
    st.global.u32 [%rd2], %r5;
    """
    )
    made = Module(module(kernel(body, Y))).kernel("k", counted=True)
    run = made.launch((2,), (32,), [np.zeros(64, np.uint32)])
    loads = run.accesses[(run.accesses["kind"] == 0) & (run.accesses["block"] == 1)]
    moments, lanes = np.unique(loads["moment"], return_counts=True)
    assert len(moments) == 31 and sorted(lanes) == list(range(1, 32))
    stores = run.accesses[run.accesses["kind"] == 1]
    assert len(stores) == 64 and len(set(stores["moment"])) == 1
    assert len(set(run.executed["start"])) == 4


def test_an_array_of_any_strides_may_be_used_from_its_first_byte_to_its_last():
    every = np.arange(100, dtype=np.int32)
    made = Module(module(NUMBER)).kernel("k")
    made.launch((1,), (17,), [every[::2]])
    np.testing.assert_array_equal(every[:20], [*range(17), 17, 18, 19])
    made.launch((1,), (1,), [every[::-1]])  # its first element is the last one in memory
    assert every[-1] == 0
    with pytest.raises(LaunchError, match=r"thread \(1, 0, 0\).* at byte 400 of argument 0, which has 400"):
        made.launch((1,), (2,), [every[::-1]])
    with pytest.raises(LaunchError, match=r"thread \(99, 0, 0\).* at byte 396 of argument 0, which has 396"):
        made.launch((1,), (100,), [every[::2]])


def test_an_array_of_no_dimensions_is_memory_and_a_number_is_not():
    made, one = Module(module(NUMBER)).kernel("k"), np.array(7, np.int32)
    made.launch((1,), (1,), [one])
    assert one == 0
    with pytest.raises(LaunchError, match="argument 0 has 4 bytes, expected 8"):
        made.launch((1,), (1,), [one[()]])


SHADOWED = (
    PLACE
    + """
    setp.eq.u32 %p1, %r2, 0;
    mov.u32 %r6, 5;
    {
        .reg .pred %p<2>;
        .reg .u32 %r6;
        mov.u32 %r6, 7;
        setp.ne.u32 %p1, %r2, 0;
        @%p1 bra DONE;
        {
            .reg .u64 %r6;
            mov.u64 %r6, 8;
            bra DONE;
            DONE:
        }
        st.global.u32 [%rd2], %r6;
        DONE:
    }
    @%p1 st.global.u32 [%rd2+4], %r6;
"""
)


def test_what_a_block_declares_hides_registers_and_labels_of_the_same_name():
    y = np.zeros(2, np.int32)
    launched(module(kernel(SHADOWED, Y)), (1,), (2,), y)
    np.testing.assert_array_equal(y, [7, 5])
