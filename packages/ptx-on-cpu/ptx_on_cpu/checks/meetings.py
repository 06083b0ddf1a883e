"""Find meetings that go wrong: at several places, passed by, with wrong masks, counts or operands.

A thread that fails is left with the status FAULT, the reason in `fault`, and in `address` the thread or the
lane that is missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.np.numpy_support import carray

from ptx_on_cpu.checks.clocks import inner, pointer
from ptx_on_cpu.records import (
    BAD_BARRIER,
    BARRIERS,
    CROWDED,
    ENDED,
    FAULT,
    IN_BLOCK,
    IN_WARP,
    NO_MARK,
    NOT_IN_MASK,
    PASSED_BY,
    UNLIKE,
    WARP,
)


@inner
def fail(thread: Any, fault: int, about: int) -> None:
    """Let a thread fail that waits."""
    thread.status, thread.fault, thread.address = FAULT, fault, about


@inner
def _count(block: Any, rank: int, offset: int) -> int:
    """Return how often a thread of a block came to a mark."""
    frame = np.int64(block.frames) + np.int64(rank) * np.int64(block.frame_size)
    return np.int64(carray(pointer(frame + np.int64(offset)), (1,), np.uint32)[0])


@inner
def _is_ahead(block: Any, one: Any, other: Any) -> bool:
    """Return whether a thread has passed the meeting that another one waits at."""
    for offset in (other.inner, other.outer):
        if offset != NO_MARK and _count(block, one.rank, offset) > _count(block, other.rank, offset):
            return True
    return False


@inner
def diverged(threads: Any) -> bool:
    """Return whether threads of one warp wait at different places for one barrier that wants them at one."""
    places = np.full((len(threads) // WARP + 1, BARRIERS), -1)
    for i in range(len(threads)):
        if threads[i].status == IN_BLOCK and threads[i].aligned:
            warp, barrier = i // WARP, threads[i].b % BARRIERS
            place = np.int64(threads[i].pc)
            if places[warp, barrier] >= 0 and places[warp, barrier] != place:
                return True
            places[warp, barrier] = place
    return False


@inner
def are_complete(block: Any, threads: Any, barrier: int) -> bool:
    """Return whether a barrier of the whole block is the next one for all threads, those that wait there.

    A thread that has ended counts as arrived, unless it has passed the barrier by.
    """
    at = -1  # the places of the barrier, one after the other
    while True:
        first = -1
        for i in range(len(threads)):
            is_there = threads[i].status == IN_BLOCK and threads[i].b == barrier
            if is_there and threads[i].pc > at and (first < 0 or threads[i].pc < threads[first].pc):
                first = i
        if first < 0:
            break
        at = np.int64(threads[first].pc)
        for i in range(len(threads)):
            is_there = threads[i].status == IN_BLOCK and threads[i].b == barrier
            is_gone = threads[i].status == ENDED and not threads[i].judged
            if not threads[first].aligned or not (is_there or is_gone):
                continue
            if _is_ahead(block, threads[i], threads[first]):
                fail(threads[first], PASSED_BY, i)
                return False
            if is_there and threads[i].pc == at and _is_ahead(block, threads[first], threads[i]):
                fail(threads[i], PASSED_BY, first)
                return False
    for i in range(len(threads)):
        if threads[i].status == ENDED:
            threads[i].judged = 1
    return True


@inner
def counted_in_warps(threads: Any, barrier: int) -> int:
    """Return how many threads have come to a barrier with a number of threads: warps, times 32.

    A warp has come when all of its threads have that have not ended.
    """
    found = 0
    for first in range(0, len(threads), WARP):
        there, others = 0, 0
        for i in range(first, min(first + WARP, len(threads))):
            if threads[i].status == IN_BLOCK and threads[i].b == barrier:
                there += 1
            elif threads[i].status != ENDED:
                others += 1
        found += WARP if there and not others else 0
    return found


@inner
def are_alike(threads: Any, barrier: int) -> bool:
    """Return whether the threads at a barrier ask for one that there is, and for the same."""
    first = -1
    for i in range(len(threads)):
        if threads[i].status == IN_BLOCK and threads[i].b == barrier:
            first = i if first < 0 else first
            if threads[i].c % WARP:
                fail(threads[i], BAD_BARRIER, 0)
                return False
            if threads[i].c != threads[first].c or threads[i].kind != threads[first].kind:
                fail(threads[i], UNLIKE, first)
                return False
    return True


@inner
def crowded(threads: Any, barrier: int) -> bool:
    """Fail a thread at a barrier, to which more have come than it waits for; return True."""
    for i in range(len(threads)):
        if threads[i].status == IN_BLOCK and threads[i].b == barrier:
            fail(threads[i], CROWDED, 0)
            return True
    return True


@inner
def are_possible(threads: Any) -> bool:
    """Return whether waiting threads are in the masks that they name, and barriers are there."""
    for i in range(len(threads)):
        thread = threads[i]
        if thread.status == IN_WARP and not thread.aligned and not thread.mask >> (i % WARP) & 1:
            fail(thread, NOT_IN_MASK, 0)
            return False
        if thread.status == IN_BLOCK and thread.b >= BARRIERS:
            fail(thread, BAD_BARRIER, 0)
            return False
    return True


@inner
def was_passed_by(block: Any, threads: Any, members: Any, count: int) -> bool:
    """Return whether a lane of the mask passed the place by where one of the lanes `members` waits.

    It has ended since, or waits with the same mask further on.
    """
    first = threads[members[0]].rank // WARP * WARP
    for k in range(count):
        waiting = threads[first + members[k]]
        if k and waiting.pc == threads[first + members[0]].pc:
            continue
        for lane in range(min(WARP, len(threads) - first)):
            other = threads[first + lane]
            is_gone = other.status == ENDED and not other.judged
            is_apart = other.status == IN_WARP and other.pc != waiting.pc
            if waiting.mask >> lane & 1 and (is_gone or is_apart) and _is_ahead(block, other, waiting):
                fail(waiting, PASSED_BY, first + lane)
                return True
    return False
