"""Counters of accesses that theory knows the counts of."""

import numpy as np
import pytest
from traced import Described, accesses, counted, executed

from ptx_on_cpu import Buffer
from ptx_on_cpu.counters import count
from ptx_on_cpu.records import ACCESS, ATOMIC, LOCAL, SHARED, STORE

LANES = np.arange(32)


@pytest.mark.parametrize(("stride", "sectors"), [(0, 1), (1, 4), (2, 8), (8, 32), (32, 32)])
def test_a_stride_of_float32_has_its_sectors_per_request(stride: int, sectors: int) -> None:
    counts = counted(accesses(4 * stride * LANES))
    assert counts.global_memory.requests == 1
    assert counts.global_memory.sectors_per_request == sectors
    asked = 128 if stride else 4
    assert counts.global_memory.efficiency == asked / (32 * sectors)


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_consecutive_accesses_of_any_size_move_what_they_ask_for(size: int) -> None:
    transfers = counted(accesses(size * LANES, size)).global_memory
    assert (transfers.requests, transfers.sectors, transfers.efficiency) == (1, size, 1.0)


def test_where_numpy_puts_an_array_does_not_matter() -> None:
    base = 7 << 48 | 0x1010  # a multiple of 16, not of 32
    rows = accesses(base + 4 * LANES)
    assert counted(rows).global_memory.sectors == 5
    inside = counted(rows, buffers=[Buffer("x", base, 128)])
    assert inside.global_memory.sectors == 4
    assert [each.name for each in inside.traffic] == ["x"]


def test_lanes_of_other_moments_and_warps_make_requests_of_their_own() -> None:
    together = accesses(4 * np.arange(64))
    later = accesses(4 * LANES, moment=1)
    elsewhere = accesses(4 * LANES, block=1)
    assert counted(together, later, elsewhere).global_memory.requests == 4


def test_an_array_is_compulsory_once_however_often_it_is_read() -> None:
    reads = [accesses(4 * LANES, moment=moment) for moment in range(5)]
    write = accesses(1024 + 4 * LANES, kind=STORE, pc=1)
    buffers = [Buffer("x", 0, 128), Buffer("y", 1024, 128), Buffer("unused", 4096, 128)]
    counts = counted(*reads, write, opcodes=["ld.global.f32", "st.global.f32"], buffers=buffers)
    x, y, unused = counts.traffic
    assert (x.read, x.written, y.read, y.written, unused.compulsory) == (128, 0, 0, 128, 0)
    assert (x.transfers.moved, counts.compulsory) == (5 * 128, 256)
    assert counts.excess(256) == 1.0


def test_an_ideal_is_a_number_of_bytes() -> None:
    with pytest.raises(ValueError, match="ideal=0; expected the bytes"):
        counted().excess(0)


@pytest.mark.parametrize(("size", "sectors"), [(1, 4), (4, 4), (8, 8), (16, 16)])
def test_local_memory_is_interleaved_so_that_one_offset_is_coalesced(size: int, sectors: int) -> None:
    same = counted(accesses(np.full(32, 64), size, space=LOCAL), opcodes=["ld.local"])
    assert same.local_memory.sectors == sectors
    assert same.local_memory.asked == 32 * size
    assert same.global_memory.requests == 0 and same.compulsory == 0
    apart = counted(accesses(4 * LANES, space=LOCAL), opcodes=["ld.local"])
    assert apart.local_memory.sectors == 32


@pytest.mark.parametrize(("columns", "ways"), [(32, 32), (33, 1), (16, 16), (34, 2)])
def test_a_column_of_a_tile_has_the_bank_conflicts_of_its_width(columns: int, ways: int) -> None:
    counts = counted(accesses(4 * columns * LANES, space=SHARED), opcodes=["ld.shared.f32"])
    assert (counts.wavefronts, counts.bank_conflicts) == (ways, ways - 1)


@pytest.mark.parametrize(("size", "phases"), [(1, 1), (2, 1), (4, 1), (8, 2), (16, 4)])
def test_neither_a_row_nor_a_broadcast_has_bank_conflicts(size: int, phases: int) -> None:
    for addresses in (size * LANES, 0 * LANES):
        counts = counted(accesses(addresses, size, space=SHARED), opcodes=["ld.shared"])
        assert (counts.wavefronts, counts.bank_conflicts) == (phases, 0)


def test_wide_accesses_conflict_within_their_half_warps() -> None:
    strided = counted(accesses(16 * LANES, 8, space=SHARED), opcodes=["ld.shared.v2.f32"])
    assert (strided.wavefronts, strided.bank_conflicts) == (4, 2)
    half = counted(accesses(16 * LANES[:16], 8, space=SHARED), opcodes=["ld.shared.v2.f32"])
    assert (half.wavefronts, half.bank_conflicts) == (2, 1)


def test_atomics_of_one_word_of_shared_memory_follow_one_another() -> None:
    counts = counted(accesses(0 * LANES, space=SHARED, kind=ATOMIC), opcodes=["atom.shared.add.u32"])
    assert (counts.wavefronts, counts.bank_conflicts) == (32, 31)


def test_contention_is_counted_within_requests_and_within_the_launch() -> None:
    hot = accesses(0 * LANES, kind=ATOMIC)  # 32 updates of one address
    pairs = accesses(4 * (LANES // 2), kind=ATOMIC, block=1)  # 2 of each of 16, one of them the same
    found = counted(hot, pairs, opcodes=["red.global.add.f32"]).atomics["global"]
    assert (found.requests, found.updates, found.addresses) == (2, 64, 16)
    assert (found.most, found.mean) == (34, 4.0)
    assert (found.most_in_request, found.mean_in_request) == (32, 64 / 17)


def test_blocks_do_not_contend_for_shared_memory() -> None:
    rows = [accesses(0 * LANES, space=SHARED, kind=ATOMIC, block=block) for block in range(3)]
    counts = counted(*rows, opcodes=["atom.shared.add.u32"])
    assert (counts.atomics["shared"].addresses, counts.atomics["shared"].most) == (3, 32)
    assert counts.atomics["global"].updates == 0


def test_warps_issue_what_any_of_their_lanes_executes() -> None:
    kernel = [Described("setp.lt.s32"), Described("bra"), Described("fma.rn.f32"), Described("ret")]
    trace = np.concatenate(
        [
            executed(range(48), 0),  # a whole warp and half of one
            executed([0], 2),  # one lane alone
            executed(range(48), 3),
            executed([0, 32], 0, moment=1, block=4),
        ]
    )
    counts = count(trace, np.zeros(0, ACCESS), kernel, {0: (0, 1), 2: (2,), 3: (3,)})
    assert list(counts.per_instruction["threads"]) == [50, 50, 1, 48]
    assert list(counts.per_instruction["warps"]) == [4, 4, 1, 2]
    assert counts.kinds == {"control": (98, 6), "fp32": (1, 1), "integer": (50, 4)}
    assert (counts.threads, counts.warps, counts.warp_efficiency) == (149, 11, 149 / (32 * 11))
    assert (counts.blocks, counts.threads_per_block) == (2, 48)


def test_a_launch_that_does_nothing_has_counts() -> None:
    counts = counted(opcodes=())
    assert (counts.threads, counts.warp_efficiency, counts.wavefronts, counts.compulsory) == (0, 1.0, 0, 0)
    assert counts.global_memory.efficiency == 1.0
    assert (counts.blocks, counts.threads_per_block) == (0, 0)
    assert str(counts) == "threads executed 0 instructions, warps issued 0: warp efficiency 100.0%"


def test_counts_are_readable() -> None:
    kernel = [
        Described("ld.global.f32", "sum.py:7"),
        Described("st.shared.f32"),
        Described("red.global.add.f32"),
    ]
    trace = executed(range(32))
    rows = [
        accesses(8 * LANES),
        accesses(128 * LANES, pc=1, kind=STORE, space=SHARED),
        accesses(512 + 0 * LANES, pc=2, kind=ATOMIC),
    ]
    buffers = [Buffer("values", 0, 256), Buffer("sum", 512, 4)]
    lines = str(count(trace, np.concatenate(rows), kernel, {0: (0, 1, 2)}, buffers)).splitlines()
    assert lines == [
        "threads executed 96 instructions, warps issued 3: warp efficiency 100.0%",
        "global memory: 2 requests, 288 bytes moved for 132 asked for: 45.8%",
        "shared memory: 32 wavefronts, 31 by bank conflicts",
        "",
        "kind           threads  warps",
        "atomic              32      1",
        "memory.global       32      1",
        "memory.shared       32      1",
        "",
        "instruction         line      requests  sectors each  efficiency  wavefronts  conflicts",
        "ld.global.f32       sum.py:7         1          8.00       50.0%",
        "st.shared.f32                        1                                    32         31",
        "red.global.add.f32                   1          1.00       12.5%",
        "",
        "buffer  requests  sectors each  efficiency  bytes read  bytes written",
        "values         1          8.00       50.0%         256              0",
        "sum            1          1.00       12.5%          32             32",
        "",
        "atomics  requests  updates  addresses  most of one   mean  most in a request   mean",
        "global          1       32          1           32  32.00                 32  32.00",
    ]
