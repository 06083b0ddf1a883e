"""Compute how many warps of a kernel fit on a multiprocessor, and the limit that keeps more away."""

from dataclasses import dataclass
from typing import Final

from ptx_on_cpu.records import WARP


@dataclass(frozen=True)
class _Limits:
    """Limits of a multiprocessor: warps and blocks at a time, bytes of shared memory."""

    warps: int
    blocks: int
    shared: int


_LIMITS: Final = {
    (8, 0): _Limits(64, 32, 164 << 10),
    (8, 6): _Limits(48, 16, 100 << 10),
    (8, 9): _Limits(48, 24, 100 << 10),
    (9, 0): _Limits(64, 32, 228 << 10),
    (10, 0): _Limits(64, 32, 228 << 10),
    (12, 0): _Limits(48, 24, 100 << 10),
}
_MAX_THREADS = 1024  # of a block
_REGISTERS, _MAX_REGISTERS = 1 << 16, 255  # of a multiprocessor, of a thread
_REGISTER_UNIT = 256  # of a warp
_PARTITIONS = 4  # of a multiprocessor, each with its part of the registers
_SHARED_UNIT, _SHARED_RESERVED = 128, 1024  # of a block, in bytes


@dataclass(frozen=True)
class Occupancy:
    """Blocks and warps on a multiprocessor at a time; `limited_by`: the limits that allow no more blocks.

    They are "warps", "blocks", "registers" and "shared memory". No blocks: the kernel cannot be launched.
    """

    blocks: int
    warps: int
    most_warps: int
    limited_by: tuple[str, ...]

    @property
    def fraction(self) -> float:
        """Return warps / most_warps, the occupancy."""
        return self.warps / self.most_warps


def occupancy(capability: tuple[int, int], threads: int, registers: int, shared: int = 0) -> Occupancy:
    """Return min(by warps, by blocks, by registers, by shared memory) blocks, as CUDA's calculator has it.

    `threads`: of a block, 1 to 1024; `registers`: of a thread, 0 to 255; `shared`: bytes per block, static
    and dynamic. The multiprocessor gives shared memory as much of its storage as it may. Raise ValueError
    for what no launch can have and for compute capabilities that are not known here.
    Sources: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; NVIDIA's header
    cuda_occupancy.h.
    """
    if capability not in _LIMITS:
        capabilities = ", ".join(f"{major}.{minor}" for major, minor in _LIMITS)
        raise ValueError(f"compute capability {capability} is not known; known are {capabilities}")
    if not (1 <= threads <= _MAX_THREADS and 0 <= registers <= _MAX_REGISTERS and shared >= 0):
        raise ValueError(
            f"threads={threads}, registers={registers}, shared={shared}; expected 1 to {_MAX_THREADS}, "
            f"0 to {_MAX_REGISTERS} and at least 0"
        )
    limits = _LIMITS[capability]
    warps = -(-threads // WARP)
    allowed = {
        "warps": limits.warps // warps,
        "blocks": limits.blocks,
        "registers": _by_registers(warps, registers, limits),
        "shared memory": limits.shared // _rounded_up(shared + _SHARED_RESERVED, _SHARED_UNIT),
    }
    blocks = min(allowed.values())
    limited_by = tuple(name for name, most in allowed.items() if most == blocks)
    return Occupancy(blocks, blocks * warps, limits.warps, limited_by)


def _by_registers(warps: int, registers: int, limits: _Limits) -> int:
    """Return how many blocks of `warps` warps find registers."""
    of_warp = _rounded_up(registers * WARP, _REGISTER_UNIT)
    # A warp finds all of its registers in one partition.
    in_partition = _REGISTERS // _PARTITIONS // of_warp if of_warp else limits.warps
    return in_partition * _PARTITIONS // warps


def _rounded_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
