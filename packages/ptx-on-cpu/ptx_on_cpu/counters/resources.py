"""The registers and the memory that a compiled kernel takes of a GPU."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Resources:
    """Resources of a kernel: registers and local memory per thread, static shared memory per block; in bytes.

    `spill_stores`, `spill_loads`: bytes of the instructions that move registers to local memory and back,
    None where unknown.
    """

    registers: int
    shared: int
    local: int
    spill_stores: int | None = None
    spill_loads: int | None = None
