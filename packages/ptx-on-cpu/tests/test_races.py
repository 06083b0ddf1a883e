"""Races are found where a plain happens-before checker over full vector clocks finds them."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from races_oracle import Oracle

from ptx_on_cpu.checks import clocks, joins, races

BLOCKS, THREADS, BYTES = 2, 4, 16
KINDS = {name: kind for kind, name in enumerate(("load", "store", "atomic", "cta_atomic", "vload", "vstore"))}
FLAGS = {"acquire": races.ACQUIRE, "release": races.RELEASE}


def engine(events, blocks=BLOCKS, threads=THREADS):
    """Return (index of the event, index of the earlier event) of the first race, or None."""
    state = races.State(blocks, threads, blocks, records=1 << 12, rows=512)
    shadows = [races.shadow(BYTES) for _ in range(blocks + 1)]
    for b in range(blocks):
        joins.begin_block(state.address, b, b)
    for pc, (b, name, *given_) in enumerate(events):
        joins.resume_block(state.address, b, b)
        if name in KINDS:
            t, shared, offset, size, value, flags = given_
            kind = KINDS[name] | flags | (races.IN_SHARED if shared else 0)
            cells = shadows[1 + b if shared else 0].ctypes.data
            code = races.note_access(state.address, t, pc, kind, cells, offset, size, value)
            assert code in (0, 1)
            if code:
                race = state.head[clocks.RACE : clocks.RACE + 12]
                assert list(race[:3]) == [1, shared, offset] and list(race[7:10]) == [b, t, pc]
                assert events[race[5]][0] == race[3] and events[race[5]][2] == race[4]
                assert KINDS[events[race[5]][1]] == race[6]
                return pc, int(race[5])
        elif name == "join":
            joins.joined(state.address, np.array(given_[0], np.int32), given_[1])
        elif name == "arrive":
            joins.arrived(state.address, *given_)
        elif name == "fence":
            joins.fenced(state.address, *given_)
        else:
            joins.joined_grid(state.address)
    for b in range(blocks):
        joins.resume_block(state.address, b, b)
        joins.end_block(state.address)
    assert state.head[clocks.FORGOTTEN] == 0
    return None


ranks = st.integers(0, THREADS - 1)
places = st.sampled_from([(0, 4), (0, 4), (4, 4), (0, 1), (1, 1), (2, 2), (0, 8), (3, 2)])
accesses = st.builds(
    lambda b, name, t, shared, place, value, flags: (
        b, name, t, shared, *place, value, flags if KINDS[name] > 1 else 0,
    ),
    st.integers(0, BLOCKS - 1), st.sampled_from(sorted(KINDS)), ranks, st.booleans(), places,
    st.sampled_from([0, 1, 0x0101, 0x80000001, -1]), st.sampled_from([0, 0, 16, 32, 48]),
)  # fmt: skip
strong = st.builds(
    lambda b, name, t, flags: (b, name, t, False, 12, 4, 1, flags),
    st.integers(0, BLOCKS - 1), st.sampled_from(["atomic", "atomic", "vload", "vstore", "cta_atomic"]), ranks,
    st.sampled_from([0, 16, 32, 48]),
)  # fmt: skip
meetings = st.builds(
    lambda b, who, barrier: (b, "join", who, barrier),
    st.integers(0, BLOCKS - 1),
    st.one_of(st.just([0, 1, 2, 3]), st.lists(ranks, min_size=2, max_size=3, unique=True)),
    st.sampled_from([-1, 1]),
)
arrivals = st.builds(lambda b, t: (b, "arrive", t, 1), st.integers(0, BLOCKS - 1), ranks)
fences = st.builds(lambda b, t, s: (b, "fence", t, s), st.integers(0, BLOCKS - 1), ranks, st.integers(0, 1))
programs = st.lists(
    st.one_of(accesses, strong, fences, meetings, arrivals, st.just((0, "grid"))), max_size=40
)


@settings(max_examples=400, deadline=None)
@given(programs)
def test_first_race_is_that_of_full_vector_clocks(events):
    found, expected = engine(events), Oracle(BLOCKS, THREADS).run(events)
    assert (found is None) == (expected is None), (found, expected)
    if found:
        assert found[0] == expected[0] and found[1] in expected[1]


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(accesses, strong, fences, meetings, arrivals, st.just((0, "grid"))), max_size=80))
def test_first_race_is_that_of_full_vector_clocks_when_earlier_races_are_left_out(events):
    kept = []
    for event in events:  # programs without a race but for, perhaps, the last event get long
        kept.append(event)
        found, expected = engine(kept), Oracle(BLOCKS, THREADS).run(kept)
        assert (found and found[0]) == (expected and expected[0])
        if found:
            kept.pop()


def parse(line):
    """Return the event of a line such as "0.1 atomic x4 acquire", "0 join 0,1", "0 sync1 2,3" or "grid"."""
    if line == "grid":
        return 0, "grid"
    who, name, *rest = line.split()
    b, _, t = who.partition(".")
    if name == "barrier":
        return int(b), "join", list(range(THREADS)), 0
    if name == "join" or name.startswith("sync"):
        return int(b), "join", [int(r) for r in rest[0].split(",")], int(name[4:]) if name != "join" else -1
    if name.startswith("arrive"):
        return int(b), "arrive", int(t), int(name[6:])
    if name == "fence":
        return int(b), "fence", int(t), int(rest[0] == "gpu")
    space, offset, size = re.fullmatch(r"([xs])(\d+)(?::(\d))?", rest[0]).groups()
    value = next((int(r[1:]) for r in rest if r[0] == "="), 0)
    flags = sum(FLAGS.get(r, 0) for r in rest)
    return int(b), name, int(t), space == "s", int(offset), int(size or 4), value, flags


REDUCTION = ["0.0 store s0", "0.1 store s4", "0 barrier", "0.0 load s4", "0.0 store s0"]
LAST_BLOCK = [
    "0.1 store x0", "0 barrier", "0.0 fence gpu", "0.0 atomic x12", "1.0 store x4", "1.0 fence gpu",
    "1.0 atomic x12", "1.0 fence gpu", "1 barrier", "1.1 load x0",
]  # fmt: skip
LOCK = [
    "0.0 atomic x0", "0.0 fence gpu", "0.0 load x4", "0.0 store x4 =1", "0.0 fence gpu", "0.0 atomic x0",
    "1.2 atomic x0", "1.2 fence gpu", "1.2 load x4", "1.2 store x4 =2",
]  # fmt: skip
PARTS = ["0.0 store s0", "0.1 arrive1", "0.0 arrive1", "0 sync1 2,3", "0.3 load s0"]
FLAG = ["0.0 store x0", "0.0 vstore x4 release", "1.0 vload x4 acquire", "1.0 load x0"]
BYTEWISE = ["0.0 store x0:1", "0.1 store x1:1 =1", "0.2 store x2:2 =7", "0.1 load x1:1"]
READERS = ["0.0 load s0", "0.1 load s0", "0.2 load s0", "0 join 0,2,3", "0.3 store s0"]
CASES = {
    "reduction": (REDUCTION, None),
    "reduction without its barrier": (REDUCTION[:2] + REDUCTION[3:], 2),
    "last block": (LAST_BLOCK, None),
    "last block without the fences": ([e for e in LAST_BLOCK if "fence" not in e], 6),
    "last block without the fence that acquires": (LAST_BLOCK[:7] + LAST_BLOCK[8:], 8),
    "last block with fences of the block only": ([e.replace("gpu", "cta") for e in LAST_BLOCK], 9),
    "lock": (LOCK, None),
    "lock without its first block's fences": (LOCK[:1] + LOCK[2:4] + LOCK[5:], 6),
    "flag released and acquired": (FLAG, None),
    "flag only volatile": (["0.0 store x0", "0.0 vstore x4", "1.0 vload x4", "1.0 load x0"], 3),
    "lanes of a warp": (["0.0 store s0", "0.1 load s0"], 1),
    "warp shuffle": (["0.0 store s0", "0 join 0,1", "0.1 load s0"], None),
    "shuffle of other lanes": (["0.0 store s0", "0 join 1,2", "0.1 load s0"], 2),
    "barrier of half the block": (["0.0 store s0", "0 sync1 0,1", "0.1 load s0", "0.2 load s0"], 3),
    "producers arrive, consumers sync": (PARTS, None),
    "consumer writes what the producer goes on to read": ([*PARTS, "0.0 load s0", "0.3 store s0"], 6),
    "store after the arrival": ([*PARTS[:3], "0.0 store s4", "0 sync1 2,3", "0.2 load s4"], 5),
    "histogram": (["0.0 atomic x0", "1.1 atomic x0", "0.2 atomic x0"], None),
    "atomics of the block from two blocks": (["0.0 cta_atomic x0", "0.1 cta_atomic x0", "1.0 atomic x0"], 2),
    "atomic and plain load": (["0.0 atomic x0", "1.1 load x0"], 1),
    "two blocks and a barrier": (["0.0 store x0", "0 barrier", "1 barrier", "1.0 load x0"], 3),
    "grid sync": (["0.0 store x0", "1.0 store x4", "grid", "1.3 load x0", "0.3 load x4"], None),
    "same value": (["0.0 store x0 =1", "0.1 store x0 =1", "1.0 store x0 =1"], None),
    "different values": (["0.0 store x0 =1", "0.1 store x0 =1", "1.0 store x0 =2"], 2),
    "same value, but read": (["0.0 store x0 =1", "0.1 store x0 =1", "1.0 load x0"], 2),
    "neighbouring bytes": (BYTEWISE, None),
    "overlapping bytes": (["0.0 store x0:2 =1", "0.1 load x1:1"], 1),
    "one of many readers is not ordered": (READERS, 4),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_race_of_a_named_pattern(name):
    lines, race = CASES[name]
    found = engine([parse(line) for line in lines])
    assert (found[0] if found else None) == race


def test_full_tables_miss_races_or_say_so_but_invent_none():
    state, shadow = races.State(2, 2, 2, records=2, rows=1), races.shadow(8)
    for b in range(2):
        joins.begin_block(state.address, b, b)

    def note(rank, kind, offset):
        return races.note_access(state.address, rank, 0, kind, shadow.ctypes.data, offset, 4, 0)

    assert [note(0, races.STORE, 0), note(0, races.STORE, 4), note(1, races.LOAD, 4)] == [0, 0, 0]
    assert state.head[clocks.FORGOTTEN] == 2
    joins.fenced(state.address, 0, 1)
    assert note(0, races.ATOMIC, 4) == 2


def test_forgotten_memory_gives_its_records_back():
    state, shadow = races.State(1, 2, 1, records=2), races.shadow(4)
    joins.begin_block(state.address, 0, 0)
    for rank in (0, 1, 0, 1):
        assert races.note_access(state.address, rank, 0, races.STORE, shadow.ctypes.data, 0, 4, rank) == 0
        races.forget(state.address, shadow.ctypes.data, 4)
    assert state.head[clocks.FORGOTTEN] == 0 and not shadow.any()


def test_machine_code_calls_by_address():
    state, shadow = races.State(1, 2, 1), races.shadow(4)
    joins.begin_block(state.address, 0, 0)
    call = races.entry_points()[0].ctypes
    assert [
        call(state.address, r, 7, k, shadow.ctypes.data, 0, 4, 3) for r, k in ((0, 1), (0, 0), (1, 0))
    ] == [0, 0, 1]


def test_threads_beyond_all_numbers_of_32_bits_are_told_apart():
    blocks, threads = 22121216, 256
    state, cells = races.State(blocks, threads, 2, records=1 << 8, rows=0), races.shadow(BYTES)
    store = KINDS["store"], cells.ctypes.data, 0, 4
    for slot, block in enumerate((blocks - 1, 5)):
        joins.begin_block(state.address, block, slot)
        found = races.note_access(state.address, 255 - slot, slot, *store, slot)
        assert found == slot
    assert list(state.head[clocks.RACE + 3 : clocks.RACE + 10]) == [blocks - 1, 255, 0, 1, 5, 254, 1]
