"""Say in words why a launch failed: the fault, the place, the thread, and the remedy."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from ptx_on_cpu import records
from ptx_on_cpu.buffers import ADDRESS_BITS, ADDRESS_MASK, GONE, LOCAL_WINDOW, SHARED_WINDOW, Buffers
from ptx_on_cpu.checks.watch import Watch
from ptx_on_cpu.engine.grid import Failure
from ptx_on_cpu.engine.host import Host
from ptx_on_cpu.records import BARRIERS, WARP
from ptx_on_cpu.syntax.program import Instruction

_AXES: Final = "xyz"
_BARRIERS: Final = ("bar", "barrier")
_MEETINGS: Final = (
    records.PASSED_BY,
    records.NOT_IN_MASK,
    records.ABSENT_LANE,
    records.BAD_BARRIER,
    records.UNLIKE,
    records.CROWDED,
)
# By the kinds of accesses of `races`, LOAD to STRONG_STORE.
_STRENGTHS: Final = ("reads", "writes", "updates", "updates for its block", "reads", "writes")


def explain(
    name: str,
    instructions: Sequence[Instruction],
    failure: Failure,
    buffers: Buffers,
    host: Host,
    watch: Watch | None,
) -> str:
    """Return the message for a failed launch of the kernel `name`."""
    block = tuple(int(failure.block[f"ctaid_{axis}"]) for axis in _AXES)
    if failure.why == records.TOO_LARGE:
        return f"kernel '{name}': its blocks wait for each other, and there are more than can run at once"
    if failure.why == records.RACE and watch is not None:
        return f"kernel '{name}': {_race(failure, instructions, buffers, watch)}"
    if failure.why == records.NO_ROOM:
        return (
            f"kernel '{name}': the check for races has no room for what so many threads release and acquire; "
            "launch fewer blocks, or leave it out: Checks(races=False)"
        )
    if failure.why in (
        records.OUT_OF_BOUNDS,
        records.MISALIGNED,
        records.READ_ONLY,
        records.UNINITIALISED,
        records.TRAP,
    ):
        thread = failure.threads[failure.threads["status"] == records.FAULT][0]
        place = tuple(int(thread[axis]) for axis in _AXES)
        deed = _access(failure, thread, instructions, buffers, host)
        where = _where(instructions, int(thread["pc"]))
        return f"kernel '{name}': thread {place} of block {block} {deed}\n  at {where}"
    if failure.why in _MEETINGS:
        return f"kernel '{name}': in block {block}, {_meeting(failure, instructions)}"
    return f"kernel '{name}': in block {block}, {_waiting(failure, instructions)}"


def _where(instructions: Sequence[Instruction], pc: int) -> str:
    """Return an instruction, behind the line of its source where the PTX names it."""
    each = instructions[pc]
    return f"{each.line}: `{each}`" if each.line else f"`{each}` (compile with line numbers for its source)"


def _access(
    failure: Failure, thread: Any, instructions: Sequence[Instruction], buffers: Buffers, host: Host
) -> str:
    if failure.why == records.TRAP:
        return f"failed an assertion: {host.assertion}" if host.assertion else "trapped"
    name = instructions[int(thread["pc"])].name
    how = {"ld": "reads", "ldu": "reads", "st": "writes"}.get(name, "updates")
    pointer, size = int(thread["address"]), int(thread["size"])
    memory = _memory(pointer, failure.block, buffers)
    if failure.why == records.MISALIGNED:
        return f"{how} {size} bytes {memory}; an address must be a multiple of the {size} bytes"
    if failure.why == records.READ_ONLY:
        return f"{how} {size} bytes {memory}, which is read-only: an input, or a constant"
    if failure.why == records.UNINITIALISED:
        return f"{how} {size} bytes {memory}: nobody has written them"
    if buffers.named(pointer) is GONE:
        return f"{how} {size} bytes by a pointer that an earlier launch has kept: its memory is gone"
    return f"{how} {size} bytes out of bounds, {memory}"


def _race(failure: Failure, instructions: Sequence[Instruction], buffers: Buffers, watch: Watch) -> str:
    """Describe two accesses of two threads that nothing orders."""
    is_shared, _, *accesses = watch.race
    pointer = int(failure.threads[failure.threads["status"] == records.FAULT][0]["address"])
    if is_shared:
        # The watch has an offset; as a pointer it is described like any other.
        pointer = SHARED_WINDOW << ADDRESS_BITS | pointer & ADDRESS_MASK
    lines = "".join(
        f"\n  thread {_place(rank, failure.block, 'ntid')} of block {_place(block, failure.block, 'nctaid')} "
        f"{_STRENGTHS[kind]} at {_where(instructions, pc)}"
        for block, rank, pc, kind in (accesses[:4], accesses[4:])
    )
    return f"a race {_memory(pointer, failure.block, buffers)}: nothing orders these two:{lines}"


def _place(number: int, record: Any, extent: str) -> tuple[int, int, int]:
    """Return the place along three axes of a thread in its block, or of a block in its grid."""
    x, y = int(record[f"{extent}_x"]), int(record[f"{extent}_y"])
    return number % x, number // x % y, number // (x * y)


def _memory(pointer: int, block: Any, buffers: Buffers) -> str:
    """Return where a pointer leads to."""
    window, address = pointer >> ADDRESS_BITS, pointer & ADDRESS_MASK
    if window == SHARED_WINDOW:
        return f"at byte {address} of shared memory, which has {int(block['shared_size'])}"
    if window == LOCAL_WINDOW:
        return f"at byte {address} of its local memory, which has {int(block['local_size'])}"
    buffer = buffers.named(pointer)
    if buffer is None:
        return f"at address {address:#x}, where no buffer of this launch is"
    return f"at byte {address - buffer.address} of {buffer.name}, which has {buffer.size}"


def _meeting(failure: Failure, instructions: Sequence[Instruction]) -> str:
    """Describe why a meeting at which a thread waits cannot take place."""
    threads = failure.threads
    thread = threads[threads["status"] == records.FAULT][0]
    pc, about, mask = int(thread["pc"]), int(thread["address"]), int(thread["mask"])
    who = tuple(int(thread[axis]) for axis in _AXES)
    where = f"\n  at {_where(instructions, pc)}"
    if failure.why == records.PASSED_BY:
        other = threads[about]
        place = tuple(int(other[axis]) for axis in _AXES)
        is_gone = other["status"] == records.ENDED
        now = "has ended" if is_gone else f"waits at {_where(instructions, int(other['pc']))}"
        whom = (
            "all threads of the block"
            if instructions[pc].name in _BARRIERS and "warp" not in instructions[pc].modifiers
            else f"all lanes of {mask:#x}"
        )
        return (
            f"thread {who} waits for {whom}, and thread {place} has passed the place by: it {now}; let "
            f"all of them come by there, or return before it{where}"
        )
    if failure.why == records.NOT_IN_MASK:
        lane = int(thread["rank"]) % WARP
        return f"thread {who} is lane {lane}, which the mask {mask:#x} that it passes does not name{where}"
    if failure.why == records.ABSENT_LANE:
        missing = "has ended, or never was" if mask >> about & 1 else f"is not in the mask {mask:#x}"
        return (
            f"thread {who} reads the value of lane {about}, which {missing}: on a GPU the value is anything; "
            f"let lane {about} take part, or narrow the width or the distance{where}"
        )
    barrier, count = int(thread["b"]), int(thread["c"])
    if failure.why == records.BAD_BARRIER:
        return (
            f"thread {who} waits at barrier {barrier} for {count or 'all'} threads; expected one from 0 "
            f"to {BARRIERS - 1}, and a multiple of {WARP} threads{where}"
        )
    if failure.why == records.UNLIKE:
        return (
            f"threads wait at barrier {barrier} for different numbers of threads, or with different "
            f"operations:\n  {_where(instructions, pc)}\n  {_where(instructions, int(threads[about]['pc']))}"
        )
    return (
        f"more threads have come to barrier {barrier} than the {count} that it waits for, and nothing says "
        f"which of them meet{where}"
    )


def _waiting(failure: Failure, instructions: Sequence[Instruction]) -> str:
    """Describe where the threads of a block wait."""
    waiting = failure.threads[failure.threads["status"] < records.ENDED]
    places = Counter(int(pc) for pc in waiting["pc"])
    lines = "".join(f"\n  {count} at {_where(instructions, pc)}" for pc, count in places.most_common())
    if failure.why == records.ENDLESS:
        return f"threads go through loops without an end, or wait for what never comes:{lines}"
    if failure.why == records.DIVERGED:
        return f"threads of one warp wait for a barrier at different places, where one is asked for:{lines}"
    return f"threads wait for ever, for others that wait elsewhere or have ended:{lines}"
