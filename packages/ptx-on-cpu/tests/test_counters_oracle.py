"""Counters against the same in plain Python, for launches of any kind."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from traced import Described

from ptx_on_cpu import Buffer
from ptx_on_cpu.counters import count
from ptx_on_cpu.records import ACCESS, ATOMIC, EXECUTED, GLOBAL, LOAD, LOCAL, SHARED, STORE

# What an instruction accesses decides on the size, kind and space of all its accesses.
SIZES = st.sampled_from([1, 2, 4, 8, 16])
INSTRUCTIONS = st.lists(
    st.tuples(SIZES, st.sampled_from([LOAD, STORE, ATOMIC]), st.sampled_from([GLOBAL, SHARED, LOCAL])),
    min_size=1,
    max_size=4,
)
BUFFERS = [Buffer("late", 3 << 48 | 0x9030, 96), Buffer("none", 0x110, 0), Buffer("early", 0x110, 400)]


@st.composite
def launches(draw: st.DrawFn) -> tuple[list[tuple[int, int, int]], np.ndarray]:
    """Instructions, and their accesses by two warps of each of two blocks at three moments, shuffled."""
    instructions = draw(INSTRUCTIONS)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    reach = draw(st.sampled_from([1, 3, 50]))  # elements: the fewer, the more lanes meet
    lanes = [
        (m, b, r, pc)
        for m in range(3)
        for b in range(2)
        for r in range(64)
        for pc in range(len(instructions))
    ]
    active = rng.permutation(lanes)[: draw(st.integers(0, min(400, len(lanes))))]
    trace = np.zeros(len(active), ACCESS)
    for i, (moment, block, rank, pc) in enumerate(active):
        size, kind, space = instructions[pc]
        start = BUFFERS[rng.choice([0, 2])].address if space == GLOBAL else 0
        trace[i] = (moment, start + int(rng.integers(reach)) * size, block, rank, pc, size, kind, space)
    return instructions, trace


def placed(row: Any) -> tuple[int, int]:
    """The buffer of an access and its offset there."""
    for i, buffer in enumerate(BUFFERS):
        if buffer.address <= int(row["address"]) < buffer.address + buffer.size:
            return i, int(row["address"]) - buffer.address
    return len(BUFFERS), int(row["address"]) & (1 << 48) - 1


def requests(trace: Iterable[Any]) -> dict[tuple[int, ...], list[Any]]:
    found: dict[tuple[int, ...], list[Any]] = defaultdict(list)
    for row in trace:
        found[int(row["pc"]), int(row["block"]), int(row["rank"]) // 32, int(row["moment"])].append(row)
    return found


def bytes_of(row: Any) -> set[tuple[int, int]]:
    """Where a GPU has the bytes of an access."""
    if row["space"] == GLOBAL:
        buffer, offset = placed(row)
        return {(buffer, offset + i) for i in range(row["size"])}
    places = range(int(row["address"]), int(row["address"]) + int(row["size"]))
    return {(0, (place // 4 * 32 + int(row["rank"]) % 32) * 4 + place % 4) for place in places}


def sectors_of(places: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    return {(buffer, offset // 32) for buffer, offset in places}


def wavefronts_of(rows: list[Any]) -> tuple[int, int]:
    phases: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        words = max(1, int(row["size"]) // 4)
        for word in range(int(row["address"]) // 4, int(row["address"]) // 4 + words):
            bank = phases[int(row["rank"]) % 32 // (32 // words)][word % 32]
            if row["kind"] == ATOMIC or word not in bank:
                bank.append(word)
    return sum(max(map(len, banks.values())) for banks in phases.values()), len(phases)


@given(launches())
def test_sectors_and_wavefronts_are_those_of_plain_python(launch: Any) -> None:
    instructions, trace = launch
    counts = count(np.zeros(0, EXECUTED), trace, [Described("ld")] * len(instructions), {}, BUFFERS)
    expected = np.zeros_like(counts.per_instruction)
    for (pc, *_), rows in requests(trace).items():
        if instructions[pc][2] == SHARED:
            wavefronts, ideal = wavefronts_of(rows)
            expected[pc]["shared_requests"] += 1
            expected[pc]["wavefronts"] += wavefronts
            expected[pc]["ideal_wavefronts"] += ideal
            continue
        space = "global" if instructions[pc][2] == GLOBAL else "local"
        places = set().union(*map(bytes_of, rows))
        expected[pc][f"{space}_requests"] += 1
        expected[pc][f"{space}_asked"] += len(places)
        expected[pc][f"{space}_sectors"] += len(sectors_of(places))
    np.testing.assert_array_equal(counts.per_instruction, expected)


@given(launches())
def test_traffic_of_buffers_is_that_of_plain_python(launch: Any) -> None:
    instructions, trace = launch
    counts = count(np.zeros(0, EXECUTED), trace, [Described("ld")] * len(instructions), {}, BUFFERS)
    rows = [row for row in trace if row["space"] == GLOBAL]
    outside = any(placed(row)[0] == len(BUFFERS) for row in rows)
    assert [each.name for each in counts.traffic] == ["late", "none", "early"] + ["elsewhere"] * outside
    for i, each in enumerate(counts.traffic):
        here = [row for row in rows if placed(row)[0] == i]
        read = sectors_of(place for row in here if row["kind"] != STORE for place in bytes_of(row))
        written = sectors_of(place for row in here if row["kind"] != LOAD for place in bytes_of(row))
        assert (each.read, each.written) == (32 * len(read), 32 * len(written))
        groups = [set().union(*map(bytes_of, group)) for group in requests(here).values()]
        assert each.transfers.requests == len(groups)
        assert each.transfers.asked == sum(map(len, groups))
        assert each.transfers.sectors == sum(len(sectors_of(group)) for group in groups)


@given(launches())
def test_contention_is_that_of_plain_python(launch: Any) -> None:
    instructions, trace = launch
    counts = count(np.zeros(0, EXECUTED), trace, [Described("ld")] * len(instructions), {}, BUFFERS)
    for name, space in {"global": GLOBAL, "shared": SHARED}.items():
        rows = [row for row in trace if row["kind"] == ATOMIC and row["space"] == space]
        places = Counter((space == SHARED and int(row["block"]), int(row["address"])) for row in rows)
        groups = [Counter(int(row["address"]) for row in group) for group in requests(rows).values()]
        found = counts.atomics[name]
        assert (found.requests, found.updates) == (len(groups), len(rows))
        assert (found.addresses, found.most) == (len(places), max(places.values(), default=0))
        assert found.in_requests == sum(map(len, groups))
        assert found.most_in_request == max((max(group.values()) for group in groups), default=0)


@given(st.integers(0, 2**32), st.integers(0, 300))
def test_instructions_are_those_of_plain_python(seed: int, size: int) -> None:
    blocks = {0: (0, 1), 2: (2,), 6: (), 3: (3, 4, 5)}
    threads = [(m, b, r, start) for m in range(3) for b in range(2) for r in range(100) for start in blocks]
    rows = [tuple(map(int, row)) for row in np.random.default_rng(seed).permutation(threads)[:size]]
    counts = count(np.array(rows, EXECUTED), np.zeros(0, ACCESS), [Described("add.s32")] * 7, blocks)
    by_thread, by_warp = Counter[int](), defaultdict[int, set[tuple[int, ...]]](set)
    for moment, block, rank, start in rows:
        for pc in blocks[start]:
            by_thread[pc] += 1
            by_warp[pc].add((moment, block, rank // 32))
    assert list(counts.per_instruction["threads"]) == [by_thread[pc] for pc in range(7)]
    assert list(counts.per_instruction["warps"]) == [len(by_warp[pc]) for pc in range(7)]
