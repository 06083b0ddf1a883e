"""Find meetings that go wrong: at several places, passed by, with wrong masks, counts or operands.

A thread that fails is left with the status FAULT, the reason in `fault`, and in `address` the thread or the
lane that is missing.
"""

from typing import Any

import numpy as np
from numba.np.numpy_support import carray

from ptx_on_cpu import records
from ptx_on_cpu.checks.clocks import inner, pointer


@inner
def fail(thread: Any, fault: int, about: int) -> None:
    """Let a waiting thread fail."""
    thread.status, thread.fault, thread.address = records.FAULT, fault, about


@inner
def _count(block: Any, rank: int, offset: int) -> Any:
    """Return how often a thread of a block was behind a meeting."""
    frame = np.int64(block.frames) + np.int64(rank) * np.int64(block.frame_size)
    return carray(pointer(frame + np.int64(offset)), (1,), np.uint64)[0]


@inner
def _is_ahead(block: Any, passer: Any, waiter: Any) -> bool:
    """Return whether a thread has passed the meeting that another one waits at."""
    if waiter.behind == records.NOTHING_BEHIND:
        return False
    return _count(block, passer.rank, waiter.behind) > _count(block, waiter.rank, waiter.behind)


@inner
def diverged(threads: Any) -> bool:
    """Return whether threads of one warp wait at different places for one barrier that wants them at one."""
    places = np.full((len(threads) // records.WARP + 1, records.BARRIERS), -1)
    for i in range(len(threads)):
        if threads[i].status == records.IN_BLOCK and threads[i].aligned:
            # Numbers that are too large are reported by `is_possible`.
            warp, barrier = i // records.WARP, threads[i].b % records.BARRIERS
            place = np.int64(threads[i].pc)
            if places[warp, barrier] >= 0 and places[warp, barrier] != place:
                return True
            places[warp, barrier] = place
    return False


@inner
def are_complete(block: Any, threads: Any, barrier: int, first: int, last: int) -> bool:
    """Return whether all threads that have not ended wait at a barrier of the whole block.

    `first`, `last`: those at the lowest and the highest of the places where some wait for it. A thread that
    has ended counts as arrived, unless it has passed the barrier by.
    """
    # Without `.aligned` a barrier may be met at any place: nothing is compared.
    while threads[first].aligned:
        at, following = threads[first].pc, last
        for i in range(len(threads)):
            is_there = threads[i].status == records.IN_BLOCK and threads[i].b == barrier
            is_gone = threads[i].status == records.ENDED and not threads[i].judged
            if (is_there or is_gone) and _is_ahead(block, threads[i], threads[first]):
                fail(threads[first], records.PASSED_BY, i)
                return False
            if is_there and threads[i].pc == at and _is_ahead(block, threads[first], threads[i]):
                fail(threads[i], records.PASSED_BY, first)
                return False
            if is_there and at < threads[i].pc < threads[following].pc:
                following = i
        if at == threads[last].pc:
            break
        first = following
    # Who has ended counts as arrived here, and is not asked for at later meetings.
    if block.unfinished < len(threads):
        for i in range(len(threads)):
            if threads[i].status == records.ENDED:
                threads[i].judged = 1
    return True


@inner
def counted_in_warps(threads: Any, barrier: int) -> int:
    """Return how many threads have come to a barrier with a number of threads: warps, times 32.

    A warp has come when all of its threads have that have not ended.
    """
    arrived = 0
    for first in range(0, len(threads), records.WARP):
        there, others = 0, 0
        for i in range(first, min(first + records.WARP, len(threads))):
            if threads[i].status == records.IN_BLOCK and threads[i].b == barrier:
                there += 1
            elif threads[i].status != records.ENDED:
                others += 1
        arrived += records.WARP if there and not others else 0
    return arrived


@inner
def is_like(threads: Any, at: int, other: int) -> bool:
    """Return whether two threads agree on a barrier's operation and number of threads, whole warps."""
    if threads[at].c % records.WARP:
        fail(threads[at], records.BAD_BARRIER, 0)
        return False
    if threads[at].c != threads[other].c or threads[at].kind != threads[other].kind:
        fail(threads[at], records.UNLIKE, other)
        return False
    return True


@inner
def is_possible(thread: Any) -> bool:
    """Return whether a thread that waits is in the mask that it names, and its barrier is there."""
    lane = thread.rank % records.WARP
    if thread.status == records.IN_WARP and not thread.aligned and not thread.mask >> lane & 1:
        fail(thread, records.NOT_IN_MASK, 0)
        return False
    if thread.status == records.IN_BLOCK and thread.b >= records.BARRIERS:
        fail(thread, records.BAD_BARRIER, 0)
        return False
    return True


@inner
def was_passed_by(block: Any, threads: Any, members: Any, count: int) -> bool:
    """Return whether a lane of the mask passed by the place where one of the lanes `members` waits.

    It has ended since, or waits with the same mask further on.
    """
    first = threads[members[0]].rank // records.WARP * records.WARP
    for k in range(count):
        waiting = threads[first + members[k]]
        # Lanes at the same place wait for the same others.
        if k and waiting.pc == threads[first + members[0]].pc:
            continue
        for lane in range(min(records.WARP, len(threads) - first)):
            other = threads[first + lane]
            is_gone = other.status == records.ENDED and not other.judged
            is_apart = other.status == records.IN_WARP and other.pc != waiting.pc
            if waiting.mask >> lane & 1 and (is_gone or is_apart) and _is_ahead(block, other, waiting):
                fail(waiting, records.PASSED_BY, first + lane)
                return True
    return False
