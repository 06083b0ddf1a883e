"""Records that machine code and the scheduler share, as NumPy dtypes."""

from typing import Any, Final

import numpy as np

WARP: Final = 32  # threads
BARRIERS: Final = 16  # of a block

# What a thread is doing; those up to PAUSED can still come to a meeting.
RUNNING, IN_WARP, IN_BLOCK, IN_GRID, PAUSED, ENDED, FAULT = range(7)

# What a thread waits for, with the lanes of its warp or the threads of its block.
MEETINGS: Final = (
    *("warp.sync", "shfl.up", "shfl.down", "shfl.bfly", "shfl.idx"),
    *("vote.all", "vote.any", "vote.uni", "vote.ballot", "match.any", "match.all", "activemask", "elect"),
    *("redux.add", "redux.min", "redux.max", "redux.and", "redux.or", "redux.xor"),
    *("bar.sync", "bar.and", "bar.or", "bar.popc", "grid"),
)

# A thread pauses after so many turns of loops, so that those that it waits for in a loop can go on.
SLICE: Final = 4096

# Why a launch failed; 0 where it did not.
(
    FINE, OUT_OF_BOUNDS, MISALIGNED, READ_ONLY, UNINITIALISED, TRAP, RACE,
    DEADLOCK, DIVERGED, ENDLESS, TOO_LARGE, NO_ROOM,
    PASSED_BY, NOT_IN_MASK, ABSENT_LANE, BAD_BARRIER, UNLIKE, CROWDED,
) = range(18)  # fmt: skip

NOTHING_BEHIND: Final = 0xFFFFFFFF

# A thread. `state`: where it goes on; `rank`: in its block; `kind`, `form`, `pc`: of what it waits for, with
# operands `mask`, `b`, `c`, `value`, and what it gets, `result`, `predicate`; `aligned`: whether all have to
# meet at this instruction; `behind`: where in frames it is counted how often threads were behind it, as
# `passing.py` says; `judged`: whether it had ended before others met; `fault`, `address`, `size`: how it
# failed.
THREAD: Final = np.dtype(
    [
        *(
            (name, "u4")
            for name in ("state", "status", "rank", "x", "y", "z", "kind", "pc", "mask", "b", "c")
        ),
        *((name, "u4") for name in ("predicate", "fault", "size", "aligned", "form", "behind", "judged")),
        *((name, "u8") for name in ("value", "result", "address")),
    ]
)

# A block, and what its machine code needs to know of the launch.
BLOCK: Final = np.dtype(
    [
        *((name, "u8") for name in ("params", "shared", "shared_shadow", "frames", "order", "buffers")),
        *((name, "u8") for name in ("num_buffers", "call_host", "accesses", "executed")),
        *((name, "u8") for name in ("races", "note_access", "note_fence", "note_arrival", "shared_races")),
        *((name, "u4") for name in ("shared_size", "dynamic", "ntid_x", "ntid_y", "ntid_z")),
        *((name, "u4") for name in ("nctaid_x", "nctaid_y", "nctaid_z", "ctaid_x", "ctaid_y", "ctaid_z")),
        *((name, "u4") for name in ("number", "unfinished", "local_size", "num_accesses", "num_executed")),
        *((name, "u4") for name in ("frame_size", "local_shadow")),
        ("arrived", "u4", (BARRIERS,)),
    ],
    align=True,
)

# Kinds of accesses, and the spaces that they go to.
LOAD, STORE, ATOMIC = range(3)
GLOBAL, SHARED, LOCAL = range(3)

# One access of a thread, in counted launches. `moment`: equal for lanes that a GPU executes together; `kind`:
# load, store, atomic; `space`: global, shared (`address` is the offset), local (the same).
ACCESS: Final = np.dtype(
    [
        *((name, "u8") for name in ("moment", "address")),
        *((name, "u4") for name in ("block", "rank", "pc")),
        *(("size", "u2"), ("kind", "u1"), ("space", "u1")),
    ]
)
# One execution of a basic block by a thread; `start`: its first instruction.
EXECUTED: Final = np.dtype([("moment", "u8"), ("block", "u4"), ("rank", "u4"), ("start", "u4")])
TRACE_ROOM: Final = 1 << 16  # rows that a block collects before the host takes them

# What machine code asks the host for.
PRINT, ASSERT, TAKE_TRACE = range(3)

# A buffer in global memory. `plain_size`: its bytes if an access needs no look at the rest, else 0; `shadow`:
# a byte for each of its bytes that says whether it was written, or 0.
BUFFER: Final = np.dtype(
    [(name, "u8") for name in ("first", "plain_size", "end", "shadow", "races", "read_only")]
)


def offset(record: np.dtype[Any], name: str) -> int:
    """Return where a field lies in a record."""
    fields: Any = record.fields
    return fields[name][1]
