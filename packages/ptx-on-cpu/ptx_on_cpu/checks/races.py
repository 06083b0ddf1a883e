"""Find data races in global and shared memory: two accesses, one of them a write, that nothing orders.

Each 4 bytes of memory have a shadow of three lists of accesses (weak loads, weak stores, strong accesses),
whose records say which of the bytes. A weak store that races with nothing takes the place of all that
happened before it (FastTrack: Flanagan and Freund, PLDI 2009). A record is 28 bytes; when none is free,
accesses are forgotten and counted, so that races may be missed, but none is invented. Strong accesses
(atomic, volatile, relaxed) of threads in each other's scope do not race, nor do stores of the same value.
"""

import functools
import mmap
from typing import Any

import numpy as np
from numba import cfunc, njit
from numba.np.numpy_support import carray

from ptx_on_cpu.checks import clocks
from ptx_on_cpu.checks.clocks import happens_before, head_of, inner, table
from ptx_on_cpu.checks.joins import arrived, fence, fenced, read_variable, write_variable
from ptx_on_cpu.records import ATOMIC, BARRIERS, LOAD, STORE
from ptx_on_cpu.turns import compiling

# Kinds beside LOAD, STORE and ATOMIC, and bits that are added to a kind.
BLOCK_ATOMIC, STRONG_LOAD, STRONG_STORE = range(ATOMIC + 1, ATOMIC + 4)
IN_SHARED, ACQUIRE, RELEASE = 8, 16, 32
SHADOW = 3  # int32 of shadow per 4 bytes of data
NEXT, OF_BLOCK, AT, PC, VALUE, MASK, KIND = range(7)
WIDTH = 7
RANK = 8  # a record has the thread's rank in its block above its kind: so many bits


class State:
    """Hold the tables of a launch of `blocks` × `threads`; the compiled functions take its `.address`.

    At most `running` blocks are unfinished at a time.

    `rows` of 4·blocks bytes and `parts` of 4·threads are for blocks that synchronise with each other (0 rows:
    none can), `records` of 28 bytes for accesses, and `variables` for the places by which threads release.
    Memory is touched only when it is used.
    """

    def __init__(
        self,
        blocks: int,
        threads: int,
        running: int,
        records: int = 1 << 20,
        rows: int = 64,
        parts: int = 1 << 10,
        variables: int = 1 << 12,
    ) -> None:
        self.head = np.zeros(clocks.HEAD, np.int64)
        for place, value in (
            (clocks.THREADS, threads),
            (clocks.BLOCKS, blocks),
            (clocks.ROWS, rows),
            (clocks.PARTS, parts),
            (clocks.RECORDS, records),
            # Record 0 stands for the end of a list.
            (clocks.USED, 1),
            (clocks.VARIABLES, variables),
        ):
            self.head[place] = value
        of_threads = (clocks.CLOCK, clocks.BASE, clocks.FOREIGN, clocks.PENDING, clocks.WIDE, clocks.CLOSE)
        of_threads += (clocks.RELEASED, clocks.RELEASED_AT)
        sizes = dict.fromkeys(of_threads, running * threads) | {clocks.OF_SLOT: running}
        sizes |= {clocks.KNOWN: running * threads * threads, clocks.ROW: rows * blocks, clocks.HOLDERS: rows}
        sizes |= {clocks.PART: parts * threads, clocks.PART_HOLDERS: parts}
        sizes |= {clocks.ARRIVED: running * BARRIERS * threads, clocks.ARRIVED_ROW: running * BARRIERS}
        # Three int64 of a variable are six int32.
        sizes |= {clocks.RECORD: records * WIDTH, clocks.KEYS: variables * 6}
        self.tables = {place: unused(size) for place, size in sizes.items()}
        for place, values in self.tables.items():
            self.head[place] = values.ctypes.data
        self.address = int(self.head.ctypes.data)


def unused(size: int) -> Any:
    """Return zeros, int32[size], that take memory when they are used.

    np.zeros clears what an earlier launch has left, of up to 32 MB, and so takes all of it.
    """
    pages = mmap.mmap(-1, max(1, 4 * size), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, np.int32, size)


def shadow(size: int) -> Any:
    """Return the shadow of `size` bytes of memory, without any access: int32[cells, 3]."""
    return np.zeros((-(-size // 4), SHADOW), np.int32)


@njit(cache=True, nogil=True)
def forget(state: int, cells: int, size: int) -> None:
    """Forget all accesses to `size` bytes whose shadow is at address `cells`, as when a block has ended."""
    head = head_of(state)
    lists = carray(clocks.pointer(cells), ((size + 3) // 4 * SHADOW,), np.int32)
    records = carray(clocks.pointer(head[clocks.RECORD]), (head[clocks.RECORDS], WIDTH), np.int32)
    for i in range(len(lists)):
        while lists[i] > 0:
            r = lists[i]
            lists[i], records[r, NEXT], head[clocks.FREE] = records[r, NEXT], head[clocks.FREE], r


@inner
def writes(kind: int) -> bool:
    """Return whether an access of a kind writes."""
    return kind != LOAD and kind != STRONG_LOAD


@inner
def thread_of(head: Any, r: Any) -> int:
    """Return the number in its launch of the thread of a record."""
    return np.int64(r[OF_BLOCK]) * head[clocks.THREADS] + (r[KIND] >> RANK)


@inner
def conflict(r: Any, kind: int, mask: int, value: int, same_block: bool) -> bool:
    """Return whether an access conflicts with an earlier one, if nothing orders them."""
    common, before = r[MASK] & mask, r[KIND] & (1 << RANK) - 1
    if common == 0 or not (writes(kind) or writes(before)):
        return False
    if kind == STORE and before == STORE:
        different = r[VALUE] ^ value
        bytes_in_common = (common & 1) * 0xFF | (common >> 1 & 1) * 0xFF00
        bytes_in_common |= (common >> 2 & 1) * 0xFF0000 | (common >> 3 & 1) * 0xFF000000
        return different & bytes_in_common != 0
    if kind > STORE and before > STORE:
        return not same_block and (kind == BLOCK_ATOMIC or before == BLOCK_ATOMIC)
    return True


@inner
def racing(head: Any, records: Any, cell: Any, rank: int, kind: int, mask: int, value: int) -> int:
    """Return the record of an earlier access to a cell that races with this one, or 0."""
    block = head[clocks.BLOCK]
    for which in range(SHADOW):
        # The first list is of loads, which do not race with loads.
        if which == 0 and not writes(kind):
            continue
        # Strong accesses race only where the scope of one is its block.
        if which == 2 and kind > STORE and head[clocks.NARROW] == 0:
            continue
        i = cell[which]
        if which == 1 and kind == STORE and i > 0 and records[i, MASK] == mask and records[i, VALUE] == value:
            continue  # all stores left here have this value
        while i > 0:
            r = records[i]
            same = r[OF_BLOCK] == block
            if conflict(r, kind, mask, value, same) and not happens_before(
                head, rank, thread_of(head, r), r[AT]
            ):
                return i
            i = r[NEXT]
    return 0


@inner
def supersede(head: Any, records: Any, cell: Any, rank: int, mask: int) -> None:
    """Take from a cell, for the bytes that a weak store writes, all accesses that happened before it."""
    for which in range(SHADOW):
        before, i = 0, cell[which]
        while i > 0:
            r = records[i]
            after = r[NEXT]
            if r[MASK] & mask and happens_before(head, rank, thread_of(head, r), r[AT]):
                r[MASK] &= ~mask
            if r[MASK]:
                before = i
            else:
                if before:
                    records[before, NEXT] = after
                else:
                    cell[which] = after
                # Free records are a list, too.
                r[NEXT], head[clocks.FREE] = head[clocks.FREE], i
            i = after


@inner
def remember(
    head: Any, records: Any, cell: Any, rank: int, pc: int, kind: int, mask: int, value: int
) -> None:
    """Add an access to a cell, in place of the thread's own last one of the same kind."""
    which, block, marked = min(kind, 2), head[clocks.BLOCK], rank << RANK | kind
    i = cell[which]
    if i == 0 or records[i, OF_BLOCK] != block or records[i, MASK] != mask or records[i, KIND] != marked:
        i = head[clocks.FREE]
        if i > 0:
            head[clocks.FREE] = records[i, NEXT]
        elif head[clocks.USED] < head[clocks.RECORDS]:
            i = head[clocks.USED]
            head[clocks.USED] += 1
        else:
            head[clocks.FORGOTTEN] += 1
            return
        records[i, NEXT] = cell[which]
        cell[which] = i
    r = records[i]
    r[AT] = table(head, clocks.CLOCK, head[clocks.SLOT] * head[clocks.THREADS] + rank, 1)[0]
    r[OF_BLOCK], r[PC] = block, pc
    r[VALUE], r[MASK], r[KIND] = value, mask, marked


@njit(cache=True, nogil=True)
def note_access(
    state: int, rank: int, pc: int, kind: int, cells: int, offset: int, size: int, value: int
) -> int:
    """Note an access of at most 8 bytes; return 1 if it races with an earlier one, 2 without room, else 0.

    `kind` is one of LOAD to STRONG_STORE with the bits IN_SHARED, ACQUIRE and RELEASE, `cells` the address of
    the memory's shadow, `value` the stored bits. The race is then in the head from RACE: 1, space, offset,
    block, rank, pc, kind of the earlier access, the same of this one, and the shadow.
    """
    head = head_of(state)
    records = carray(clocks.pointer(head[clocks.RECORD]), (head[clocks.RECORDS], WIDTH), np.int32)
    # The lowest three bits are the kind; IN_SHARED, ACQUIRE and RELEASE lie above.
    bits, kind = kind, kind & 7
    if kind == BLOCK_ATOMIC and not bits & IN_SHARED:
        # From here on strong accesses have to be compared with each other.
        head[clocks.NARROW] = 1
    for c in range(offset // 4, (offset + size + 3) // 4):
        lo, hi = max(offset, 4 * c), min(offset + size, 4 * c + 4)
        # A bit for each of the cell's four bytes.
        mask = ((1 << (hi - lo)) - 1) << (lo - 4 * c)
        part = ((value >> (8 * (lo - offset))) & ((1 << (8 * (hi - lo))) - 1)) << (8 * (lo - 4 * c))
        part = part - (part >> 31 << 32)  # as int32
        cell = carray(clocks.pointer(cells + 4 * SHADOW * c), (SHADOW,), np.int32)
        earlier = racing(head, records, cell, rank, kind, mask, part)
        if earlier:
            r = records[earlier]
            race = head[clocks.RACE : clocks.RACE + 12]
            race[0], race[1], race[2] = 1, 1 if bits & IN_SHARED else 0, offset
            race[3], race[4], race[5], race[6] = (
                r[OF_BLOCK],
                r[KIND] >> RANK,
                r[PC],
                r[KIND] & (1 << RANK) - 1,
            )
            race[7], race[8], race[9], race[10], race[11] = head[clocks.BLOCK], rank, pc, kind, cells
            return 1
        if kind == STORE:
            supersede(head, records, cell, rank, mask)
        remember(head, records, cell, rank, pc, kind, mask, part)
    if kind > STORE:
        synchronise(head, rank, bits, cells + 4 * SHADOW * (offset // 4))
    return 2 if head[clocks.EXHAUSTED] else 0


@inner
def synchronise(head: Any, rank: int, bits: int, key: int) -> None:
    """Let a strong access release and acquire, itself or by the fences around it."""
    kind = bits & 7
    wide = kind != BLOCK_ATOMIC
    if kind != STRONG_STORE:
        read_variable(head, rank, key, wide)
    if bits & (ACQUIRE | RELEASE):
        fence(head, rank, wide, bits & RELEASE > 0, bits & ACQUIRE > 0)
    if kind != STRONG_LOAD:
        write_variable(head, rank, key, wide, kind != STRONG_STORE)


def _access(state: int, rank: int, pc: int, kind: int, cells: int, offset: int, size: int, value: int) -> int:
    return note_access(state, rank, pc, kind, cells, offset, size, value)


def _fence(state: int, rank: int, scope: int) -> int:
    fenced(state, rank, scope)
    return 0


def _arrival(state: int, rank: int, barrier: int) -> int:
    arrived(state, rank, barrier)
    return 0


@functools.cache
def entry_points() -> tuple[Any, Any, Any]:
    """Return note_access, fenced and arrived as functions of C, which take int64 alone; compile them once."""
    numbers = {_access: 8, _fence: 3, _arrival: 3}
    with compiling():
        access, fence_, arrival = (
            cfunc(f"int64({', '.join(['int64'] * count)})", cache=True)(function)
            for function, count in numbers.items()
        )
    return access, fence_, arrival
