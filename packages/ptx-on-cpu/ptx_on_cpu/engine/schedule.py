"""Run the blocks of a grid: every thread up to where it waits, then on from where threads have met.

A block whose threads do nothing but pause in loops waits for another block, which then begins, too: spin
locks and flags between blocks, and a synchronisation of the grid, find all the blocks that they need.
"""

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from ptx_on_cpu import records
from ptx_on_cpu.checks.clocks import inner
from ptx_on_cpu.checks.joins import begin_block, end_block, joined_grid, resume_block
from ptx_on_cpu.checks.meetings import diverged, is_possible
from ptx_on_cpu.checks.races import forget
from ptx_on_cpu.engine.exchange import has_met, meet_in_block, meet_in_warp

# What comes next for a block.
AGAIN, YIELDED, AT_GRID, FINISHED, FAILED, SPLIT = range(6)
# After so many pauses of all threads without another event, the next block begins, and lanes without a mask
# no longer wait for those that pause.
_PATIENCE_OF_A_BLOCK: Final = 4
_GARBAGE: Final = 0xFF  # in shared memory at first: nobody may count on what is there


@intrinsic
def _code_call(
    typing: Any, run: Any, block: Any, threads: Any, count: Any, frame_size: Any, fresh: Any
) -> Any:
    """Call the machine code `run` by its address; return how many threads have not ended."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word] * 5).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], kind), list(arguments[1:]))

    return types.int64(*[types.int64] * 6), emit


_call: Any = _code_call  # numba passes its first argument


@inner
def _release(block: Any, threads: Any, waits_long: bool, races: int) -> int:
    """Let threads that have met, or paused, go on; return the state of the block.

    `waits_long`: threads have only paused for a while.
    """
    members = np.empty(records.WARP, np.int64)
    unfinished, paused, at_grid, barriers = 0, 0, 0, 0
    for i in range(len(threads)):
        status = threads[i].status
        if status == records.FAULT or not is_possible(threads[i]):
            return FAILED
        if status == records.IN_BLOCK:
            barriers |= 1 << threads[i].b
        unfinished += status != records.ENDED
        paused += status == records.PAUSED
        at_grid += status == records.IN_GRID
    block.unfinished = unfinished
    if unfinished == 0:
        return FINISHED
    moved = False
    for first in range(0, len(threads), records.WARP):
        moved |= _release_warp(block, threads, first, members, waits_long, races)
    # Lanes that go on may still come to a barrier: warps first.
    if not moved:
        for barrier in range(records.BARRIERS):
            if barriers >> barrier & 1:
                moved |= meet_in_block(block, threads, barrier, races)
    for i in range(len(threads)):
        if threads[i].status == records.PAUSED:
            threads[i].status = records.RUNNING
    if moved:
        return AGAIN
    if paused:
        return YIELDED
    return AT_GRID if at_grid == unfinished else FAILED


@inner
def _release_warp(block: Any, threads: Any, first: int, members: Any, waits_long: bool, races: int) -> bool:
    """Let the lanes that have met, of the warp of thread `first`, go on; return whether there are some.

    Lanes that take whoever is at their instruction wait while others may still come, and those go first
    that are behind, as a GPU lets lanes converge. `members`: room for the lanes of a warp.
    """
    last = min(first + records.WARP, len(threads))
    moved, goes_on, behind = False, False, np.int64(-1)
    for i in range(first, last):
        if threads[i].status == records.IN_WARP and not threads[i].aligned:
            count = has_met(block, threads, i, members)
            if count:
                meet_in_warp(threads, first, members, count, races)
                moved = True
    for i in range(first, last):
        goes_on |= threads[i].status == records.PAUSED and not waits_long
        if threads[i].status == records.IN_WARP and threads[i].aligned:
            behind = i if behind < 0 or threads[i].pc < threads[behind].pc else behind
    if moved or goes_on or behind < 0:
        return moved
    meet_in_warp(threads, first, members, has_met(block, threads, behind, members), races)
    return True


@inner
def _number(block: Any, threads: Any) -> None:
    """Give the threads of a row their places in a block."""
    for i in range(len(threads)):
        threads[i].rank = i
        threads[i].x = i % block.ntid_x
        threads[i].y = i // block.ntid_x % block.ntid_y
        threads[i].z = i // (block.ntid_x * block.ntid_y)


@inner
def _nth(block: Any, order: Any, place: int) -> int:
    """Return the number of the block at a place of the order; the last ones, no whole window, keep theirs."""
    count = np.int64(block.nctaid_x) * np.int64(block.nctaid_y) * np.int64(block.nctaid_z)
    first = place // len(order) * len(order)
    return first + order[place - first] if first + len(order) <= count else place


@inner
def _begin(block: Any, threads: Any, number: int, shared: Any, shadow: Any) -> None:
    """Make a block ready for its first step."""
    block.number = number
    block.ctaid_x = number % block.nctaid_x
    block.ctaid_y = number // block.nctaid_x % block.nctaid_y
    block.ctaid_z = number // (block.nctaid_x * block.nctaid_y)
    block.unfinished = len(threads)
    for barrier in range(records.BARRIERS):
        block.arrived[barrier] = 0
    shared[:] = _GARBAGE
    shadow[:] = 0


@inner
def _advance(
    run: int, frame_size: int, blocks: Any, threads: Any, row: int, is_new: bool, waits_long: bool, races: int
) -> Any:
    """Run the block of a row until nothing of it goes on; return its state, and whether threads have met."""
    at, first = blocks[row:].ctypes.data, threads[row].ctypes.data
    if races:
        resume_block(races, blocks[row].number, row)
    has_met, fresh = False, np.int64(is_new)
    while _call(run, at, first, threads.shape[1], frame_size, fresh):
        fresh = 0
        if diverged(threads[row]):
            return SPLIT, has_met
        said = _release(blocks[row], threads[row], waits_long, races)
        if said != AGAIN:
            return said, has_met
        has_met = True
    return FINISHED, has_met


@njit(cache=True, nogil=True)
def run_blocks(
    run: int,
    frame_size: int,
    order: Any,
    begin: int,
    end: int,
    blocks: Any,
    threads: Any,
    shared: Any,
    shadow: Any,
    patience: int,
    all_at_once: bool,
    races: int,
) -> Any:
    """Run the blocks at the places from `begin` to `end` of the order.

    `blocks`, `threads`, `shared`, `shadow`: a row for each block that can be unfinished. `order`: how the
    blocks of a window change places, of as many blocks as it has.
    `all_at_once`: all blocks begin before one goes on, as in a cooperative launch; `races`: the address of
    the state of the watch for races, or 0.

    Returns:
        Why it failed, FINE if it did not, and the row of the block that did.
    """
    room = len(blocks)
    is_busy = np.zeros(room, np.bool_)
    is_new = np.zeros(room, np.bool_)
    is_at_grid = np.zeros(room, np.bool_)
    quiet = np.zeros(room, np.int64)  # steps in which threads have only paused
    next_block, unfinished, used = begin, 0, 0
    if all_at_once and end - begin > room:
        return records.TOO_LARGE, 0
    while next_block < end or unfinished:
        goes_on = False  # without another block
        for row in range(used):
            goes_on |= is_busy[row] and not is_at_grid[row] and quiet[row] < _PATIENCE_OF_A_BLOCK
        if next_block < end and unfinished < room and (all_at_once or not goes_on):
            number = _nth(blocks[0], order, next_block)
            row = 0
            while is_busy[row]:
                row += 1
            if row == used:  # rows are used from the first on
                # Places in a block are the same for every block of the row.
                _number(blocks[row], threads[row])
                used += 1
            _begin(blocks[row], threads[row], number, shared[row], shadow[row])
            if races:
                begin_block(races, number, row)
            is_busy[row], is_new[row], is_at_grid[row], quiet[row] = True, True, False, 0
            next_block += 1
            unfinished += 1
            if all_at_once and next_block < end:
                continue
        stuck = True
        for row in range(used):
            if not is_busy[row] or is_at_grid[row]:
                continue
            stuck = False
            waits_long = quiet[row] >= _PATIENCE_OF_A_BLOCK
            said, has_met = _advance(run, frame_size, blocks, threads, row, is_new[row], waits_long, races)
            is_new[row] = False
            quiet[row] = (0 if has_met else quiet[row]) + (said == YIELDED)
            if said == SPLIT:
                return records.DIVERGED, row
            if said == FAILED:
                return _reason(threads[row]), row
            if quiet[row] > patience:
                return records.ENDLESS, row
            is_at_grid[row] = said == AT_GRID
            if said == FINISHED:
                is_busy[row] = False
                unfinished -= 1
                if races:
                    end_block(races)
                    # Shared memory is the next block's: what this one did there races with nothing.
                    forget(races, blocks[row].shared_races, blocks[row].shared_size)
        # All blocks that have begun wait for the whole grid.
        if stuck:
            if next_block < end and unfinished < room:
                continue
            if next_block < end:
                return records.TOO_LARGE, 0
            if races:
                joined_grid(races)
            for row in range(used):
                if is_at_grid[row]:
                    _leave_grid(threads[row])
                    is_at_grid[row] = False
    return records.FINE, 0


@inner
def _leave_grid(threads: Any) -> None:
    """Let threads that have waited for the whole grid go on."""
    for i in range(len(threads)):
        if threads[i].status == records.IN_GRID:
            threads[i].status = records.RUNNING


@inner
def _reason(threads: Any) -> Any:
    for i in range(len(threads)):
        if threads[i].status == records.FAULT:
            return np.int64(threads[i].fault)
    return records.DEADLOCK
