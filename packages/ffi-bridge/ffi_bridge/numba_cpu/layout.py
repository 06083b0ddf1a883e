"""What a handler of a Numba CPU kernel is made for; no compiler is needed to say it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """How the buffers of a frame map to the kernel's arguments.

    `batched[i][l]`: argument i has an axis for batch level l (outermost first); an argument without
    one is given to every element of that level. `guarded`: outputs lie between canaries. `results`:
    arguments whose elements come from the kernel alone.
    """

    kernel: str
    names: tuple[str, ...]
    num_inputs: int
    batched: tuple[tuple[bool, ...], ...]
    results: tuple[int, ...]
    guarded: bool = False

    @property
    def levels(self) -> int:
        return len(self.batched[-1])


@dataclass(frozen=True)
class Threading:
    """What a kernel with parallel regions needs around it.

    `slot`: symbol of its exception slot; `num_threads`: a thread count other than Numba's own.
    """

    slot: str
    num_threads: int | None
