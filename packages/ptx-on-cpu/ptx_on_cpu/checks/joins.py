"""Tell the clocks of a launch that a block begins or ends, that threads meet, fence, release and acquire."""

from typing import Any

import numpy as np
from numba import njit
from numba.np.numpy_support import carray

from ptx_on_cpu.checks import clocks
from ptx_on_cpu.checks.clocks import clocks_of, drop, head_of, inner, join, parts_of, table
from ptx_on_cpu.records import BARRIERS


@njit(cache=True, nogil=True)
def begin_block(state: int, block: int, slot: int) -> None:
    """Begin a block in a slot that no unfinished block uses; it is the running block."""
    head = head_of(state)
    resume_block(state, block, slot)
    count = head[clocks.THREADS]
    table(head, clocks.KNOWN, slot * count * count, count * count)[:] = 0
    table(head, clocks.ARRIVED, slot * BARRIERS * count, BARRIERS * count)[:] = 0
    for place in (clocks.BASE, clocks.FOREIGN, clocks.PENDING, clocks.WIDE, clocks.CLOSE, clocks.RELEASED):
        table(head, place, slot * count, count)[:] = 0
    table(head, clocks.CLOCK, slot * count, count)[:] = 1
    table(head, clocks.OF_SLOT, slot, 1)[0] = block


@njit(cache=True, nogil=True)
def resume_block(state: int, block: int, slot: int) -> None:
    """Make an unfinished block the running one."""
    head = head_of(state)
    head[clocks.BLOCK], head[clocks.SLOT] = block, slot


@njit(cache=True, nogil=True)
def end_block(state: int) -> None:
    """End the running block: free its slot, and give up its clocks of the remaining blocks."""
    head = head_of(state)
    for place in (clocks.FOREIGN, clocks.PENDING):
        rows = table(head, place, head[clocks.SLOT] * head[clocks.THREADS], head[clocks.THREADS])
        for i in range(len(rows)):
            rows[i] = give_up(head, rows[i])
    for i in range(head[clocks.THREADS]):
        clocks.learned(head, i)
    rows = table(head, clocks.ARRIVED_ROW, head[clocks.SLOT] * BARRIERS, BARRIERS)
    for i in range(BARRIERS):
        rows[i] = give_up(head, rows[i])


@njit(cache=True, nogil=True)
def arrived(state: int, rank: int, barrier: int) -> None:
    """Let a thread of the running block release to the threads that next join at a barrier (bar.arrive)."""
    head = head_of(state)
    count = head[clocks.THREADS]
    first = head[clocks.SLOT] * count
    clock = table(head, clocks.CLOCK, first, count)
    to = table(head, clocks.ARRIVED, (head[clocks.SLOT] * BARRIERS + barrier) * count, count)
    raise_to(to, known_by(head, first + rank))
    to[rank] = clock[rank]
    row = table(head, clocks.ARRIVED_ROW, head[clocks.SLOT] * BARRIERS + barrier, 1)
    row[0] = join(head, np.int64(row[0]), clocks.number(head, clocks.FOREIGN, first + rank))
    # From here on the thread does what it has not released.
    clock[rank] += 1


@njit(cache=True, nogil=True)
def joined(state: int, ranks: Any, barrier: int) -> None:
    """Let these threads of the running block (int32 ranks) meet, at a barrier of the block or, -1, elsewhere.

    All that any of them did, and that those that arrived at the barrier had done, happens before all that any
    of them does.
    """
    head = head_of(state)
    count = head[clocks.THREADS]
    slot = head[clocks.SLOT]
    first = slot * count
    clock = table(head, clocks.CLOCK, first, count)
    foreign = table(head, clocks.FOREIGN, first, count)
    row = np.int64(0)
    for t in ranks:
        row = join(head, row, np.int64(foreign[t]))
    # A row for the block in place of one for each thread.
    if len(ranks) == count:
        copy(table(head, clocks.BASE, first, count), clock)
    else:
        # The first thread's row becomes that of all.
        meeting = known_by(head, first + ranks[0])
        for t in ranks:
            raise_to(meeting, known_by(head, first + t))
        if barrier >= 0:
            there = table(head, clocks.ARRIVED, (slot * BARRIERS + barrier) * count, count)
            raise_to(meeting, there)
            there[:] = 0
            rows = table(head, clocks.ARRIVED_ROW, slot * BARRIERS + barrier, 1)
            row = join(head, row, np.int64(rows[0]))
            rows[0] = give_up(head, rows[0])
        for t in ranks:
            meeting[t] = clock[t]
        for t in ranks:
            copy(known_by(head, first + t), meeting)
    for t in ranks:
        clock[t] += 1
        foreign[t] = join(head, give_up(head, foreign[t]), row)
        clocks.learned(head, np.int64(t))
    drop(head, row)


@inner
def give_up(head: Any, row: int) -> Any:
    """Give up a row and return row 0, which knows nothing."""
    drop(head, np.int64(row))
    return np.int64(0)


@inner
def known_by(head: Any, thread: int) -> Any:
    """Return how far a thread knows the threads of its block; it is counted through all slots."""
    return table(head, clocks.KNOWN, thread * head[clocks.THREADS], head[clocks.THREADS])


# By loops: for an assignment of arrays Numba compiles the text of errors, too, for seconds.
@inner
def copy(to: Any, of: Any) -> None:
    """to = of"""
    for i in range(len(to)):
        to[i] = of[i]


@inner
def raise_to(to: Any, of: Any) -> None:
    """to = max(to, of)"""
    for i in range(len(to)):
        to[i] = max(to[i], of[i])


@njit(cache=True, nogil=True)
def joined_grid(state: int) -> None:
    """Let all threads of the launch meet (a grid sync): all blocks are unfinished."""
    head = head_of(state)
    count = head[clocks.THREADS]
    total = count * head[clocks.BLOCKS]
    row = clocks.copy_on_write(head, np.int64(0))
    if head[clocks.EXHAUSTED]:
        return
    for slot in range(head[clocks.BLOCKS]):
        part, clock = clocks.new_part(head), table(head, clocks.CLOCK, slot * count, count)
        if part == 0:
            return
        parts_of(head, row)[table(head, clocks.OF_SLOT, slot, 1)[0]] = part
        copy(clocks_of(head, part), clock)
        copy(table(head, clocks.BASE, slot * count, count), clock)
    clock, foreign = table(head, clocks.CLOCK, 0, total), table(head, clocks.FOREIGN, 0, total)
    released = table(head, clocks.RELEASED, 0, total)
    for t in range(total):
        foreign[t] = join(head, give_up(head, foreign[t]), row)
        clock[t] += 1
        clocks.drop_part(head, np.int64(released[t]))
        released[t] = 0
    drop(head, row)


@inner
def fence(head: Any, rank: int, wide: bool, releases: bool, acquires: bool) -> None:
    """Let later strong writes of a thread release its past, and its earlier strong reads acquire."""
    at = head[clocks.SLOT] * head[clocks.THREADS] + rank
    pending = table(head, clocks.PENDING, at, 1)
    if acquires and pending[0] > 0:
        clocks.acquire(head, rank, np.int64(pending[0]), wide)
        if wide:
            pending[0] = give_up(head, pending[0])
    if releases:
        clock = table(head, clocks.CLOCK, at, 1)
        table(head, clocks.CLOSE, at, 1)[0] = clock[0]
        if wide:
            table(head, clocks.WIDE, at, 1)[0] = clock[0]
        clock[0] += 1


@njit(cache=True, nogil=True)
def fenced(state: int, rank: int, scope: int) -> None:
    """Note a fence of a thread of the running block; scope 0 is its block, 1 and more the device or wider."""
    fence(head_of(state), rank, scope > 0, True, True)


@inner
def variable(head: Any, key: int, block: int, make: bool) -> Any:
    """Return the place of a variable (int64[3]: key, block + 1 or 0, row), or int64[0] if it has none."""
    size = head[clocks.VARIABLES]
    keys = carray(clocks.pointer(head[clocks.KEYS]), (size, 3), np.int64)
    # Open addressing: a place whose key is 0 is free.
    i = (key // 4 * 31 + block * 17) % size
    for _ in range(size):
        if keys[i, 0] == 0 and make:
            keys[i, 0], keys[i, 1] = key, block
        if keys[i, 0] == key and keys[i, 1] == block:
            return keys[i]
        if keys[i, 0] == 0:
            return keys[i, :0]
        i = (i + 1) % size
    if make:
        head[clocks.EXHAUSTED] = 1
    return keys[0, :0]


@inner
def write_variable(head: Any, rank: int, key: int, wide: bool, atomic: bool) -> None:
    """Let a strong write release the thread's past up to its last fence.

    An atomic adds to what the variable releases, a store replaces it.
    """
    at = head[clocks.SLOT] * head[clocks.THREADS] + rank
    far, near = clocks.number(head, clocks.WIDE, at), clocks.number(head, clocks.CLOSE, at)
    for close in range(2):
        clock = near if close else far
        # A wide fence releases to all; the close place adds what a later fence of the block does.
        releases = clock > 0 and (wide or close == 1) and (close == 0 or not wide or near > far)
        place = variable(head, key, head[clocks.BLOCK] + 1 if close else 0, releases)
        if len(place) == 0:
            continue
        # A store replaces what the variable released before.
        if not atomic and (wide or close == 1):
            place[2] = give_up(head, place[2])
        if releases:
            place[2] = clocks.release(head, rank, place[2], clock)


@inner
def read_variable(head: Any, rank: int, key: int, wide: bool) -> None:
    """Keep the clocks that a variable released until the thread fences."""
    count = head[clocks.THREADS]
    block = head[clocks.BLOCK]
    pending = table(head, clocks.PENDING, head[clocks.SLOT] * count + rank, 1)
    for close in range(2):
        place = variable(head, key, head[clocks.BLOCK] + 1 if close else 0, False)
        if len(place) == 0:
            continue
        if wide or close == 1:
            pending[0] = join(head, np.int64(pending[0]), place[2])
        else:
            part = np.int64(parts_of(head, place[2])[block])
            pending[0] = clocks.join_block(head, np.int64(pending[0]), block, part)
