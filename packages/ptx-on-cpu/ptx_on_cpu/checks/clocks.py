"""Order the accesses of a launch by vector clocks: how far each thread knows every thread's past.

A thread's own clock counts its joins and fences. It knows the threads of its block by `known` (one row per
thread) and `base` (what all know since the last barrier of the whole block), and all blocks of the launch by
a row, made only once an acquire needs it. A row has a part for each block, which has a clock for each of the
block's threads. Rows and parts are shared, and never change while shared: where one thread of each block
releases and acquires, as in a persistent kernel, thousands of variables hold the few parts that these threads
have released. All but rows and parts is kept for the blocks that are unfinished, each in a slot.
"""

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numba.np.numpy_support import carray

# Places of the head of a state, an array of int64: sizes, the running block, counters, then pointers.
THREADS, BLOCKS, BLOCK, SLOT, ROWS, RECORDS, FREE, USED, FORGOTTEN, EXHAUSTED, NARROW, VARIABLES = range(12)
PARTS, LAST_ROW, LAST_PART = range(12, 15)  # the last two: where the search for a free one begins
# From RACE: found, space, offset, then block, rank, pc and kind of both accesses, the earlier first, shadow.
RACE = 15
TABLES = 27
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
    PART,
    PART_HOLDERS,
    RELEASED,
    RELEASED_AT,
) = range(TABLES, TABLES + 18)
HEAD = TABLES + 18


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
def number(head: Any, place: int, i: int) -> Any:
    """Return the number at `i` of a table: int64, as a function is compiled for each kind of integers."""
    return np.int64(table(head, place, i, 1)[0])


@inner
def free_one(head: Any, holders: Any, last: int) -> int:
    """Return the place of one that nobody holds, and hold it; 0, which stands for no knowledge, if none is.

    Then the launch ends and says so, since a clock left out would invent races. `last`: where the head has
    the place that was found before.
    """
    i = head[last]
    for _ in range(len(holders)):
        i = i + 1 if i + 1 < len(holders) else 0
        if i > 0 and holders[i] == 0:
            holders[i] = 1
            head[last] = i
            return i
    head[EXHAUSTED] = 1
    return 0


@inner
def parts_of(head: Any, row: int) -> Any:
    """Return the numbers of a row's parts, one for each block, 0 for unknown blocks."""
    return table(head, ROW, row * head[BLOCKS], head[BLOCKS])


@inner
def clocks_of(head: Any, part: int) -> Any:
    """Return the clocks in a part, one for each thread of a block."""
    return table(head, PART, part * head[THREADS], head[THREADS])


@inner
def part_holders(head: Any) -> Any:
    """Return how many rows and threads hold each part."""
    return table(head, PART_HOLDERS, 0, head[PARTS])


@inner
def new_part(head: Any) -> int:
    """Return a part that the caller holds alone, or 0 without room."""
    return free_one(head, part_holders(head), LAST_PART)


@inner
def drop(head: Any, row: int) -> None:
    """Give up one hold of a row; a row without holders is free, and holds no parts."""
    if row > 0:
        holders = table(head, HOLDERS, row, 1)
        holders[0] -= 1
        if holders[0] == 0:
            for part in parts_of(head, row):
                drop_part(head, np.int64(part))


@inner
def drop_part(head: Any, part: int) -> None:
    """Give up one hold of a part."""
    if part > 0:
        part_holders(head)[part] -= 1


@inner
def copy_on_write(head: Any, row: int) -> int:
    """Return a row with the parts of `row` that only the caller holds, in place of `row`."""
    holders = table(head, HOLDERS, 0, head[ROWS])
    if row > 0 and holders[row] == 1:
        return row
    # Row 0, which knows nothing, is never given away.
    mine = free_one(head, holders, LAST_ROW)
    if mine == 0:
        return row
    fresh, before, holders = parts_of(head, mine), parts_of(head, row), part_holders(head)
    for block in range(len(fresh)):
        fresh[block] = before[block]
        if before[block] > 0:
            holders[before[block]] += 1
    drop(head, row)
    return mine


@inner
def join_parts(head: Any, part: int, second: int) -> int:
    """Return the maximum of two parts, held in place of `part`; one that adds nothing is left out."""
    if second == 0 or part == second:
        return part
    holders, of, mine = part_holders(head), clocks_of(head, second), clocks_of(head, part)
    is_above, is_below = True, True
    for i in range(len(of)):
        is_above &= mine[i] >= of[i]
        is_below &= mine[i] <= of[i]
    if part > 0 and is_above:
        return part
    if part == 0 or is_below:
        drop_part(head, part)
        holders[second] += 1
        return second
    to = part if holders[part] == 1 else new_part(head)
    if to == 0:
        return part
    joined = clocks_of(head, to)
    for i in range(len(of)):
        joined[i] = max(mine[i], of[i])
    if to != part:
        drop_part(head, part)
    return to


@inner
def join_block(head: Any, row: int, block: int, part: int) -> int:
    """Return a row with the maximum of a part and its own one of this block, held in place of `row`."""
    if part == 0 or part == parts_of(head, row)[block]:
        return row
    row = copy_on_write(head, row)
    if head[EXHAUSTED] == 0:
        to = parts_of(head, row)
        to[block] = join_parts(head, np.int64(to[block]), part)
    return row


@inner
def join(head: Any, row: int, second: int) -> int:
    """Return the maximum of two rows, held in place of `row`."""
    if second == 0 or row == second:
        return row
    # A row that adds nothing is shared, as long as nobody writes to it.
    if row == 0:
        table(head, HOLDERS, second, 1)[0] += 1
        return second
    for block in range(head[BLOCKS]):
        row = join_block(head, row, block, np.int64(parts_of(head, second)[block]))
    return row


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
    row = number(head, FOREIGN, mine + rank)
    if row == 0:
        return False
    return clocks_of(head, np.int64(parts_of(head, row)[thread // count]))[thread % count] >= clock


@inner
def learned(head: Any, rank: int) -> None:
    """Note that a thread of the running block knows more than it has released."""
    released = table(head, RELEASED, head[SLOT] * head[THREADS] + rank, 1)
    drop_part(head, np.int64(released[0]))
    released[0] = 0


@inner
def acquire(head: Any, rank: int, row: int, wide: bool) -> None:
    """Join a row into the clocks of a thread: for the threads of its block and, if `wide`, for all."""
    count = head[THREADS]
    known = table(head, KNOWN, (head[SLOT] * count + rank) * count, count)
    of = clocks_of(head, np.int64(parts_of(head, row)[head[BLOCK]]))
    for i in range(count):
        known[i] = max(known[i], of[i])
    if wide:
        foreign = table(head, FOREIGN, head[SLOT] * count + rank, 1)
        foreign[0] = join(head, np.int64(foreign[0]), row)
    learned(head, rank)


@inner
def released_part(head: Any, rank: int, clock: int) -> Any:
    """Return the knowledge that a thread has of its running block, of its past up to `clock`.

    The thread holds it until it learns more: what it releases in many places is one part.
    """
    count = head[THREADS]
    mine = head[SLOT] * count
    released, at = table(head, RELEASED, mine + rank, 1), table(head, RELEASED_AT, mine + rank, 1)
    if released[0] == 0 or at[0] != clock:
        learned(head, rank)
        released[0], at[0] = new_part(head), clock
        if released[0] > 0:
            to, base = clocks_of(head, np.int64(released[0])), table(head, BASE, mine, count)
            known = table(head, KNOWN, (mine + rank) * count, count)
            for i in range(count):
                to[i] = max(known[i], base[i])
            to[rank] = clock
    return np.int64(released[0])


@inner
def release(head: Any, rank: int, row: int, clock: int) -> int:
    """Return the maximum of `row` and the clocks of a thread of the running block, its last one `clock`."""
    foreign = number(head, FOREIGN, head[SLOT] * head[THREADS] + rank)
    row, part = join(head, row, foreign), released_part(head, rank, clock)
    return row if head[EXHAUSTED] else join_block(head, row, head[BLOCK], part)
