"""Give threads that have met their results: values of a warp's lanes, votes, reductions, counts."""

from typing import Any, Final

import numpy as np

from ptx_on_cpu.checks.clocks import inner
from ptx_on_cpu.checks.joins import joined
from ptx_on_cpu.checks.meetings import are_complete, counted_in_warps, fail, is_like, was_passed_by
from ptx_on_cpu.records import ABSENT_LANE, CROWDED, IN_BLOCK, IN_WARP, MEETINGS, PAUSED, RUNNING, WARP

UP, DOWN, BFLY, IDX = (MEETINGS.index(f"shfl.{how}") for how in ("up", "down", "bfly", "idx"))
ALL, ANY, UNI, BALLOT = (MEETINGS.index(f"vote.{how}") for how in ("all", "any", "uni", "ballot"))
MATCH_ANY, MATCH_ALL = MEETINGS.index("match.any"), MEETINGS.index("match.all")
ACTIVE, ELECT = MEETINGS.index("activemask"), MEETINGS.index("elect")
R_ADD, R_MIN, R_MAX, R_AND, R_OR = (
    MEETINGS.index(f"redux.{how}") for how in ("add", "min", "max", "and", "or")
)
BAR_AND, BAR_OR = MEETINGS.index("bar.and"), MEETINGS.index("bar.or")
NO_BARRIER: Final[Any] = np.int64(-1)  # threads of a warp have met


@inner
def _combined(kind: int, total: int, value: int) -> int:
    if kind == R_ADD:
        return total + value
    if kind == R_MIN:
        return min(total, value)
    if kind == R_MAX:
        return max(total, value)
    if kind == R_AND:
        return total & value
    if kind == R_OR:
        return total | value
    return total ^ value


@inner
def _source(kind: int, lane: int, b: int, c: int) -> int:
    """Return the lane that a shuffle reads, and -1 where the thread keeps its value."""
    limit, segment = c & 31, c >> 8 & 31
    # As the PTX ISA's pseudo code of `shfl`, whose `maxLane` this is.
    last = (lane & segment) | (limit & ~segment & 31)
    if kind == UP:
        return lane - b if lane - b >= last else -1
    if kind == DOWN:
        source = lane + b
    elif kind == BFLY:
        source = lane ^ b
    else:
        source = (lane & segment) | (b & ~segment & 31)
    return source if source <= last else -1


@inner
def meet_in_warp(threads: Any, first: int, members: Any, count: int, races: int) -> None:
    """Give the lanes `members` of the warp of thread `first`, which are at one operation, its results.

    `races`: the address of the state of the watch for races, or 0.
    """
    if races:
        ranks = np.empty(count, np.int32)
        for k in range(count):
            ranks[k] = first + members[k]
        joined(races, ranks, NO_BARRIER)
    kind = np.int64(threads[first + members[0]].kind)
    everybody, votes = 0, 0
    total = np.int64(threads[first + members[0]].value)
    for k in range(count):
        value = np.int64(threads[first + members[k]].value)
        everybody |= 1 << members[k]
        votes |= (1 if value else 0) << members[k]
        if k:
            total = _combined(kind, total, value)
    for k in range(count):
        lane = np.int64(members[k])
        thread = threads[first + lane]
        if UP <= kind <= IDX:
            # PTX takes five bits of the operand.
            source = _source(kind, lane, np.int64(thread.b & 31), np.int64(thread.c))
            thread.predicate = source >= 0
            if source < 0:
                thread.result = thread.value
            elif everybody >> source & 1:
                thread.result = threads[first + source].value
            else:
                fail(thread, ABSENT_LANE, source)
        elif kind == ALL:
            thread.result = votes == everybody
        elif kind == ANY:
            thread.result = votes != 0
        elif kind == UNI:
            thread.result = votes == everybody or votes == 0
        elif kind == BALLOT:
            thread.result = votes
        elif kind == ACTIVE:
            thread.result = everybody
        elif kind == ELECT:
            # PTX leaves open which lane it is.
            thread.result = members[0]
            thread.predicate = lane == members[0]
        elif MATCH_ANY <= kind <= MATCH_ALL:
            same = 0
            for other in range(count):
                if threads[first + members[other]].value == thread.value:
                    same |= 1 << members[other]
            thread.predicate = same == everybody
            thread.result = same if kind == MATCH_ANY or same == everybody else 0
        else:
            thread.result = np.uint64(total)
    for k in range(count):
        if threads[first + members[k]].status == IN_WARP:
            threads[first + members[k]].status = RUNNING


@inner
def has_met(block: Any, threads: Any, at: int, members: Any) -> int:
    """Write the lanes that thread `at` waits for to `members`; return how many, or 0 if one is missing.

    PTX asks for the same operation with the same mask, not for the same instruction: NVVM makes two copies
    of a loop for lanes that meet in it. Without a mask, lanes at the same instruction have met.
    """
    first, waiting = at // WARP * WARP, threads[at]
    count, are_all_here = 0, True
    for lane in range(min(WARP, len(threads) - first)):
        other = threads[first + lane]
        is_here = other.status == IN_WARP and other.form == waiting.form and other.mask == waiting.mask
        if waiting.aligned:
            is_here &= other.pc == waiting.pc
        elif not waiting.mask >> lane & 1:
            continue
        # A lane that has ended is not waited for; any other may still come.
        elif not is_here and other.status <= PAUSED:
            return 0
        are_all_here &= is_here and other.pc == waiting.pc
        if is_here:
            members[count] = lane
            count += 1
    if not waiting.aligned and not are_all_here and was_passed_by(block, threads, members, count):
        return 0
    return count


@inner
def meet_in_block(block: Any, threads: Any, barrier: int, races: int) -> bool:
    """Let the threads at a barrier go on, if all that it waits for are there; return whether they are."""
    there, votes, first = 0, 0, np.int64(-1)
    last = first  # the two at the lowest and the highest place
    for i in range(len(threads)):
        if threads[i].status == IN_BLOCK and threads[i].b == barrier:
            there += 1
            votes += threads[i].value != 0
            first = i if first < 0 or threads[i].pc < threads[first].pc else first
            last = i if last < 0 or threads[i].pc > threads[last].pc else last
            if not is_like(threads, i, first):
                return False
    if first < 0:
        return False
    kind, wanted = np.int64(threads[first].kind), np.int64(threads[first].c)
    arrived = np.int64(block.arrived[barrier]) + (counted_in_warps(threads, barrier) if wanted else there)
    if arrived < (wanted or np.int64(block.unfinished)):
        return False
    if arrived > wanted > 0:
        fail(threads[first], CROWDED, 0)
        return False
    if not wanted and not are_complete(block, threads, barrier, first, last):
        return False
    block.arrived[barrier] = 0
    result = votes
    if kind == BAR_OR:
        result = np.int64(votes > 0)
    elif kind == BAR_AND:
        result = np.int64(votes == there)
    ranks = np.empty(there if races else 0, np.int32)
    there = 0
    for i in range(len(threads)):
        if threads[i].status == IN_BLOCK and threads[i].b == barrier:
            if races:
                ranks[there] = i
                there += 1
            threads[i].result = np.uint64(result)
            threads[i].value = 0
            threads[i].status = RUNNING
    if races:
        joined(races, ranks, barrier)
    return True
