"""The threads of one CUDA block: run in turn if they never wait for each other, else as Python threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any

import numpy as np

WARP = 32


@dataclass(frozen=True)
class Dim3:
    """CUDA's dim3: the index of a thread in its block or of a block in its grid, or the number of them."""

    x: int
    y: int
    z: int


class Meeting:
    """A barrier for a group of threads; a thread that has ended is not waited for."""

    def __init__(self, members: Iterable[int]) -> None:
        self._expected = set(members)
        self._given: dict[int, Any] = {}
        self._result: dict[int, Any] = {}
        self._round = 0
        self._changed = threading.Condition()

    def meet(self, member: int, value: Any = None) -> dict[int, Any]:
        """Give a value, wait for the others, and return the value of each."""
        with self._changed:
            mine = self._round
            self._given[member] = value
            self._proceed()
            self._changed.wait_for(lambda: self._round != mine)
            return self._result

    def leave(self, member: int) -> None:
        """Take `member` out of the group."""
        with self._changed:
            self._expected.discard(member)
            self._proceed()

    def _proceed(self) -> None:
        if self._given and self._expected <= self._given.keys():
            self._result, self._given = self._given, {}
            self._round += 1
            self._changed.notify_all()


@dataclass
class Block:
    """The state that the threads of a block share."""

    index: Dim3
    extents: Dim3
    grid: Dim3
    shared_bytes: int
    arrays: dict[object, Any] = field(default_factory=dict)  # shared memory, by the code that asks for it
    meetings: dict[object, Meeting] = field(default_factory=dict)
    left: set[int] = field(default_factory=set)  # ranks of threads that have ended
    lock: Any = field(default_factory=threading.Lock)

    @property
    def size(self) -> int:
        return self.extents.x * self.extents.y * self.extents.z

    def meeting(self, key: object, members: Iterable[int]) -> Meeting:
        """Return the barrier `key` of these threads."""
        with self.lock:
            if key not in self.meetings:
                self.meetings[key] = Meeting(set(members) - self.left)
            return self.meetings[key]

    def leave(self, rank: int) -> None:
        """Note that a thread has ended: nobody waits for it any more."""
        with self.lock:
            self.left.add(rank)
            for meeting in self.meetings.values():
                meeting.leave(rank)


@dataclass
class Thread:
    """One thread of a block."""

    block: Block
    index: Dim3
    rank: int

    @property
    def lane(self) -> int:
        return self.rank % WARP

    @property
    def warp(self) -> int:
        return self.rank // WARP

    def meet_block(self, value: Any = None) -> dict[int, Any]:
        """Wait for the block; return the value of each thread, by rank."""
        return self.block.meeting("block", range(self.block.size)).meet(self.rank, value)

    def meet_lanes(self, mask: int, value: Any = None) -> dict[int, Any]:
        """Wait for the lanes of the warp in `mask`; return the value of each, by lane."""
        first = self.warp * WARP
        lanes = [lane for lane in range(WARP) if mask >> lane & 1 and first + lane < self.block.size]
        found = self.block.meeting((self.warp, mask), [first + lane for lane in lanes])
        return {rank - first: given for rank, given in found.meet(self.rank, value).items()}

    def leave(self) -> None:
        """End: nobody waits for this thread any more."""
        self.block.leave(self.rank)


_current = threading.local()


def current() -> Thread:
    """Return the thread that is running."""
    thread: Thread = _current.thread
    return thread


def run_block(block: Block, work: Callable[[], None], *, together: bool, turns: Random | None = None) -> None:
    """Run every thread of a block, in the order of `turns`; `together`: at once, so that they can wait."""
    places = [
        Dim3(x, y, z)
        for z, y, x in product(*(range(n) for n in (block.extents.z, block.extents.y, block.extents.x)))
    ]
    threads = [Thread(block, place, rank) for rank, place in enumerate(places)]
    if turns is not None:
        turns.shuffle(threads)
    if not together:
        with np.errstate(over="ignore"):
            for thread in threads:
                _current.thread = thread
                work()
        return
    errors: list[BaseException] = []
    block.meeting("block", range(block.size))
    running = [threading.Thread(target=_run, args=(thread, work, errors)) for thread in threads]
    for each in running:
        each.start()
    for each in running:
        each.join()
    if errors:
        raise errors[0]


def _run(thread: Thread, work: Callable[[], None], errors: list[BaseException]) -> None:
    _current.thread = thread
    try:
        with np.errstate(over="ignore"):  # integers wrap around, as on a GPU
            work()
    except BaseException as error:  # run_block raises it again
        errors.append(error)
    finally:
        thread.leave()
