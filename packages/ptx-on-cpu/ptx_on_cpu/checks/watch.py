"""Watch a launch for data races: its state, the shadows of its memory, and the record of a race."""

from typing import Any, Final

import numpy as np

from ptx_on_cpu.checks.clocks import RACE
from ptx_on_cpu.checks.races import SHADOW, State, entry_points, shadow

Array = np.ndarray[Any, Any]
WATCHED_AT_ONCE: Final = 64  # blocks that are unfinished at a time, but in cooperative launches
_CELL: Final = 4  # bytes that share a shadow
_NUMBERS: Final = 1 << 28  # of blocks in all rows, of threads in all parts; unused ones take no memory
_VARIABLES: Final = 1 << 18  # addresses by which threads release, each with a row of what they know


class Watch:
    """The watch over one launch of `blocks` of `threads`, each with `shared` bytes of shared memory.

    At most `most` blocks are unfinished at a time.
    """

    def __init__(self, blocks: int, threads: int, shared: int, most: int) -> None:
        # A variable has a row; threads have some of their own.
        rows, parts = min(2 * _VARIABLES, _NUMBERS // blocks), min(_VARIABLES, _NUMBERS // threads)
        running = min(most, blocks)
        self._state = State(blocks, threads, running, rows=rows, parts=parts, variables=_VARIABLES)
        cells = -(-max(shared, 1) // _CELL)
        self._shared: Array = np.zeros((running, cells, SHADOW), np.int32)
        self._shadows: dict[int, Array] = {}

    @property
    def address(self) -> int:
        """Return the address of the state."""
        return self._state.address

    def fields(self, rows: int) -> dict[str, Any]:
        """Return the fields of the records of blocks that tell machine code of the watch."""
        access, fence, arrival = (function.address for function in entry_points())
        places = np.arange(rows, dtype=np.uint64) * np.uint64(self._shared.strides[0])
        return {
            "races": self.address,
            "note_access": access,
            "note_fence": fence,
            "note_arrival": arrival,
            "shared_races": np.uint64(self._shared.ctypes.data) + places,
        }

    def shadow_of(self, address: int, size: int) -> int:
        """Return the address of the shadow of memory."""
        if address not in self._shadows:
            self._shadows[address] = shadow(size)
        return self._shadows[address].ctypes.data

    @property
    def race(self) -> tuple[int, ...]:
        """Return the race: space, offset; block, rank, pc and kind of each of the two accesses."""
        return tuple(map(int, self._state.head[RACE + 1 : RACE + 11]))
