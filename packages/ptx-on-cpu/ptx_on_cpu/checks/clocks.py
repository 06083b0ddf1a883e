"""Order the accesses of a launch by vector clocks: how far each thread knows every thread's past.

A thread's own clock counts its joins and fences. It knows the threads of its block by `known` (one row per
thread) and `base` (what all know since the last barrier of the whole block), and other blocks by a row over
all threads of the launch, made only once an acquire needs it. All but the rows is kept for the blocks that
are unfinished, each in a slot.
"""

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numba.np.numpy_support import carray

# Places of the head of a state, an array of int64: sizes, the running block, counters, then pointers.
THREADS, BLOCKS, BLOCK, SLOT, ROWS, RECORDS, FREE, USED, FORGOTTEN, EXHAUSTED, NARROW, VARIABLES = range(12)
# From RACE: found, space, offset, then block, rank, pc and kind of both accesses, the earlier first, shadow.
RACE = 12
TABLES = 24
(
    CLOCK,
    BASE,
    KNOWN,
    FOREIGN,
    PENDING,
    WIDE,
    CLOSE,
    ROW,
    HOLDERS,
    ARRIVED,
    ARRIVED_ROW,
    RECORD,
    KEYS,
    OF_SLOT,
) = range(TABLES, TABLES + 14)
HEAD = TABLES + 14


numba_njit: Any = njit  # its declared overloads lack these options
# For what only compiled code calls, without wrappers for Python and C.
inner: Any = numba_njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def to_pointer(typing: Any, address: Any) -> Any:
    """Return the integer `address` as a pointer."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), build


pointer: Any = intrinsic(to_pointer)


@inner
def head_of(state: Any) -> Any:
    """Return the head of the state at an address, int64[HEAD]."""
    return carray(pointer(state), (HEAD,), np.int64)


@inner
def table(head: Any, place: int, start: int, count: int) -> Any:
    """Return `count` int32 from `start` of the table at a place of the head."""
    return carray(pointer(head[place] + 4 * start), (count,), np.int32)


@inner
def drop(head: Any, row: int) -> None:
    """Give up one hold of a row; a row without holders is free."""
    if row > 0:
        table(head, HOLDERS, row, 1)[0] -= 1


@inner
def copy_on_write(head: Any, row: int) -> int:
    """Return a row with the clocks of `row` that only the caller holds, in place of `row`."""
    holders = table(head, HOLDERS, 0, head[ROWS])
    if row > 0 and holders[row] == 1:
        return row
    # Row 0, which knows nothing, is never given away.
    mine = 1
    while mine < head[ROWS] and holders[mine] > 0:
        mine += 1
    if mine >= head[ROWS]:
        # No row is free: the launch ends and says so, since a clock left out would invent races.
        head[EXHAUSTED] = 1
        return row
    total = head[THREADS] * head[BLOCKS]
    fresh = table(head, ROW, mine * total, total)
    fresh[:] = table(head, ROW, row * total, total)  # row 0 knows nothing
    holders[mine] = 1
    drop(head, row)
    return mine


@inner
def join(head: Any, row: int, second: int, start: int, stop: int) -> int:
    """Return the maximum of two rows, held in place of `row`; threads `start` to `stop` of `second` count."""
    total = head[THREADS] * head[BLOCKS]
    if second == 0 or row == second:
        return row
    # A row that adds nothing is shared, as long as nobody writes to it.
    if row == 0 and stop - start == total:
        table(head, HOLDERS, second, 1)[0] += 1
        return second
    mine = copy_on_write(head, row)
    if head[EXHAUSTED] == 0:
        to, of = table(head, ROW, mine * total, total), table(head, ROW, second * total, total)
        for i in range(start, stop):
            to[i] = max(to[i], of[i])
    return mine


@inner
def happens_before(head: Any, rank: int, thread: int, clock: int) -> bool:
    """Return whether `thread` of the launch up to `clock` happens before the next action of `rank`."""
    count = head[THREADS]
    first = head[BLOCK] * count
    mine = head[SLOT] * count
    if first <= thread < first + count:
        other = thread - first
        if other == rank or table(head, BASE, mine + other, 1)[0] >= clock:
            return True
        return table(head, KNOWN, (mine + rank) * count + other, 1)[0] >= clock
    row = table(head, FOREIGN, mine + rank, 1)[0]
    return row > 0 and table(head, ROW, row * count * head[BLOCKS] + thread, 1)[0] >= clock


@inner
def acquire(head: Any, rank: int, row: int, wide: bool) -> None:
    """Join a row into the clocks of a thread: for the threads of its block and, if `wide`, for all."""
    count = head[THREADS]
    first = head[BLOCK] * count
    known = table(head, KNOWN, (head[SLOT] * count + rank) * count, count)
    of = table(head, ROW, row * count * head[BLOCKS] + first, count)
    for i in range(count):
        known[i] = max(known[i], of[i])
    if wide:
        foreign = table(head, FOREIGN, head[SLOT] * count + rank, 1)
        foreign[0] = join(head, foreign[0], row, 0, count * head[BLOCKS])


@inner
def release(head: Any, rank: int, row: int, clock: int) -> int:
    """Return the maximum of `row` and the clocks of a thread of the running block, its last one `clock`."""
    count = head[THREADS]
    total = count * head[BLOCKS]
    first = head[BLOCK] * count
    row = copy_on_write(head, row)
    if head[EXHAUSTED]:
        return row
    mine = head[SLOT] * count
    row = join(head, row, table(head, FOREIGN, mine + rank, 1)[0], 0, total)
    to = table(head, ROW, row * total + first, count)
    known = table(head, KNOWN, (mine + rank) * count, count)
    base = table(head, BASE, mine, count)
    for i in range(count):
        to[i] = max(to[i], known[i] if i != rank else clock, base[i])
    return row
